"""Codex runs no hook that its person has not reviewed. What it thinks of ours is asked of codex itself."""

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
from maestro.client.connect.entries import is_ours

_SECONDS_MAX = 20.0


@dataclass(frozen=True)
class Reviewed:
    """One of our hooks, as codex sees it."""

    key: str
    event: str
    digest: str
    is_trusted: bool


def ask(program: str, directory: Path) -> list[Reviewed] | None:
    """Our hooks as codex finds them from a directory; None if it does not say."""
    words = [program, "app-server"]
    hello = {"clientInfo": {"name": "maestro", "version": __version__}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(directory)]}},
    ]
    try:
        with subprocess.Popen(
            words, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as codex:
            try:
                return _listed(_conversation(codex, asked))
            finally:
                codex.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    codex.wait(5)
                codex.kill()
    except OSError:
        return None


def _conversation(codex: subprocess.Popen[bytes], asked: list[dict[str, Any]]) -> Any:
    assert codex.stdin is not None and codex.stdout is not None
    with contextlib.suppress(OSError):
        codex.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in asked))
        codex.stdin.flush()
    until, said = time.monotonic() + _SECONDS_MAX, b""
    with selectors.DefaultSelector() as waiting:
        waiting.register(codex.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and waiting.select(left):
            piece = os.read(codex.stdout.fileno(), 1 << 16)
            if not piece:
                return None
            *lines, said = (said + piece).split(b"\n")
            for line in lines:
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    if isinstance(answer, dict) and answer.get("id") == 2:
                        return answer.get("result")
    return None


def _listed(result: Any) -> list[Reviewed] | None:
    try:
        found = [hook for place in result["data"] for hook in place["hooks"]]
        return [
            Reviewed(hook["key"], hook["eventName"], hook["currentHash"], hook["trustStatus"] == "trusted")
            for hook in found
            if is_ours(hook.get("command"))
        ]
    except (KeyError, TypeError):
        return None
