"""Ask codex which of Maestro's hooks the person has reviewed. Codex does not run other hooks."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maestro import __version__
from maestro.client.connect.entries import is_maestro_hook

_SECONDS_MAX = 20.0


@dataclass(frozen=True)
class ListedHook:
    """One of Maestro's hooks, as codex lists it."""

    key: str
    event: str
    digest: str
    is_trusted: bool


def ask_codex(program: str, directory: Path) -> list[ListedHook] | None:
    """Return Maestro's hooks as codex finds them from a directory; None if codex does not answer."""
    command = [program, "app-server"]
    client = {"clientInfo": {"name": "maestro", "version": __version__}}
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(directory)]}},
    ]
    try:
        with subprocess.Popen(
            command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as codex:
            try:
                return _reviewed_hooks(_list_hooks(codex, requests))
            finally:
                codex.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    codex.wait(5)
                codex.kill()
    except OSError:
        return None


def _list_hooks(codex: subprocess.Popen[bytes], requests: list[dict[str, Any]]) -> Any:
    """Send the requests, and return the result of the last request; None without an answer."""
    assert codex.stdin is not None and codex.stdout is not None
    with contextlib.suppress(OSError):
        codex.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        codex.stdin.flush()
    until, partial = time.monotonic() + _SECONDS_MAX, b""
    with selectors.DefaultSelector() as selector:
        selector.register(codex.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and selector.select(left):
            chunk = os.read(codex.stdout.fileno(), 1 << 16)
            if not chunk:
                return None
            *lines, partial = (partial + chunk).split(b"\n")
            for line in lines:
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    if isinstance(answer, dict) and answer.get("id") == 2:
                        return answer.get("result")
    return None


def _reviewed_hooks(result: Any) -> list[ListedHook] | None:
    try:
        hooks = [hook for listing in result["data"] for hook in listing["hooks"]]
        return [
            ListedHook(hook["key"], hook["eventName"], hook["currentHash"], hook["trustStatus"] == "trusted")
            for hook in hooks
            if is_maestro_hook(hook.get("command"))
        ]
    except (KeyError, TypeError):
        return None
