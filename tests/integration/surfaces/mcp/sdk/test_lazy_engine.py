"""The SDK is loaded only on demand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from maestro.testing.live import LiveServer
from maestro.testing.mcp_wire import McpWire, tool_call_message


def test_the_server_does_not_import_the_sdk() -> None:
    look = "import sys, maestro.server.lifecycle; sys.exit('mcp' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_sdk_is_loaded_only_by_a_request_that_needs_it(
    live: LiveServer, api: httpx.Client, wire: McpWire
) -> None:
    """Look for pydantic, which comes with the SDK, in the memory map of the server."""

    def has_sdk() -> bool:
        assert live.process is not None
        return "pydantic_core" in Path(f"/proc/{live.process.pid}/maps").read_text()

    for path in ("/api/status", "/api/whoami", "/api/openapi.json"):
        assert api.get(path).status_code == 200
    assert live.run_command("status").returncode == 0
    assert httpx.post(f"{live.url}/mcp", json=tool_call_message("whoami")).status_code == 401
    assert not has_sdk()
    headers = wire.initialize_session()
    for asked in (
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        tool_call_message("whoami"),
        tool_call_message("inbox"),
    ):
        assert wire.post_message(asked, headers=headers).status_code == 200
    assert not has_sdk()
    assert wire.post_message(tool_call_message("wait", {"timeout": 0.01}), headers=headers).status_code == 200
    assert has_sdk()
