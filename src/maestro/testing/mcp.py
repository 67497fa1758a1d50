"""The SDK's client against a live server, over either transport and in either mode of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from maestro.testing.live import PYTHON_CLIENT, LiveServer

LEGACY, MODERN = "legacy", "auto"


@asynccontextmanager
async def connected_client(
    live: LiveServer,
    way: str,
    mode: str,
    token: str,
    *,
    heard: Callable[[Any], None] | None = None,
    refused: Callable[[Any], None] | None = None,
    cwd: Path | None = None,
) -> AsyncIterator[Any]:
    """Yield a connected client. `way` is http, stdio, or elsewhere (stdio without a socket).

    `heard` receives notifications; `refused` receives the answers to HTTP requests without a valid token.
    """
    import mcp

    async def pass_on(message: Any) -> None:
        if heard is not None:
            heard(message)

    async with (
        _open_transport(live, way, token, cwd, refused) as transport,
        mcp.Client(transport, mode=mode, message_handler=pass_on) as connected,
    ):
        yield connected


@asynccontextmanager
async def _open_transport(
    live: LiveServer, way: str, token: str, cwd: Path | None, refused: Callable[[Any], None] | None
) -> AsyncIterator[Any]:
    if way in ("stdio", "elsewhere"):
        from mcp.client.stdio import StdioServerParameters, stdio_client

        program, *arguments = PYTHON_CLIENT
        environment = live.environment(**({"MAESTRO_TOKEN": token} if token else {}))
        if way == "elsewhere":  # only an address and a token
            environment |= {"MAESTRO_HOME": "/nowhere", "MAESTRO_SERVER_URL": live.url}
        yield stdio_client(
            StdioServerParameters(command=program, args=[*arguments, "mcp"], env=environment, cwd=cwd or live.home)
        )
        return
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def report_refusal(answer: Any) -> None:
        if refused is not None and answer.status_code == 401:
            await answer.aread()
            refused(answer.json())

    timeout = httpx2.Timeout(30, read=300)
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(
        headers=headers, timeout=timeout, event_hooks={"response": [report_refusal]}
    ) as http:
        yield streamable_http_client(f"{live.url}/mcp", http_client=http)


def text_of(result: Any) -> str:
    """Return the text of a tool's result. Fail if the result is an error."""
    (content,) = result.content
    assert not result.is_error, content.text
    text: str = content.text
    return text
