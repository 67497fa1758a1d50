"""Ask a program which of Maestro's hooks the person has reviewed, if the program does not run other hooks."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from pathlib import Path
from typing import Any

from maestro.client.connect.entries import is_maestro_hook
from maestro.tools.connect_support import HookReview, ListedHook

_SECONDS_MAX = 20.0


def list_hooks(program: str, review: HookReview, directory: Path) -> list[ListedHook] | None:
    """Return Maestro's hooks as the program finds them from a directory; None if the program does not answer."""
    try:
        with subprocess.Popen(
            [program, *review.arguments],
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                result = _ask_program(process, review.requests(directory), review.answer_id)
                return review.read_result(result, is_maestro_hook)
            finally:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(5)
                process.kill()
    except OSError:
        return None


def _ask_program(process: subprocess.Popen[bytes], requests: list[dict[str, Any]], answer_id: int) -> Any:
    """Send the requests, and return the result of the request `answer_id`; None without an answer."""
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        process.stdin.flush()
    until, partial = time.monotonic() + _SECONDS_MAX, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and selector.select(left):
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                return None
            *lines, partial = (partial + chunk).split(b"\n")
            for line in lines:
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    if isinstance(answer, dict) and answer.get("id") == answer_id:
                        return answer.get("result")
    return None
