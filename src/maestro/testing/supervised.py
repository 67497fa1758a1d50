"""A real runner process without a server. The runner keeps its reports in its spool."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from maestro.runner import process_tree
from maestro.wire import frames, runner_folder, runner_requests

SECONDS_MAX = 30.0


def wait_until(condition: Callable[[], Any], *, what: str = "it") -> Any:
    """Poll a condition until its value is true, and return the value. Fail after a time limit."""
    deadline = time.monotonic() + SECONDS_MAX
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not happen in time"
        time.sleep(0.01)
    return found


def process_identity(pid: int) -> tuple[int, str]:
    """Return the pid and start time of a process, so that a later process with the same pid differs."""
    return pid, process_tree.process_start(pid)


def is_running(process: tuple[int, str]) -> bool:
    return bool(process[1]) and process_tree.process_start(process[0]) == process[1]


class SupervisedRunner:
    """One runner and its agent."""

    def __init__(self, folder: Path, arguments: Sequence[str], **order: Any) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.order = {
            "session_id": "ses_x",
            "token": "none",
            "secret": "none",
            "socket": str(folder / "no-server.sock"),
            "folder": str(folder),
            "arguments": list(arguments),
            "directory": str(folder),
            "environment": {"PATH": os.environ["PATH"], "FOLDER": str(folder)},
            "stop_seconds": 0.3,
            **order,
        }
        self.process = self.start_runner()

    def start_runner(self) -> subprocess.Popen[bytes]:
        """Start a runner with this order. The caller must end a second runner."""
        with (self.folder / runner_folder.LOG).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "maestro.runner"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                cwd="/",
                start_new_session=True,
            )
        assert process.stdin is not None
        process.stdin.write(json.dumps(self.order).encode())
        process.stdin.close()
        return process

    def spooled(self) -> list[dict[str, Any]]:
        try:
            found: list[dict[str, Any]] = json.loads((self.folder / runner_folder.SPOOL).read_bytes())
        except FileNotFoundError:
            return []
        return found

    def wait_for_report(self, kind: str) -> dict[str, Any]:
        """Wait for the runner's report of a kind, and return it."""

        def find_report() -> dict[str, Any] | None:
            found = next((event for event in self.spooled() if event["kind"] == kind), None)
            assert found or self.process.poll() is None, (self.folder / runner_folder.LOG).read_text()
            return found

        found: dict[str, Any] = wait_until(find_report, what=f"the report {kind!r}")
        return found

    def wait_for_file(self, name: str) -> str:
        """Wait until a file of the agent ends with a newline, and return its text."""

        def complete_text() -> str:
            path = self.folder / name
            text = path.read_text() if path.exists() else ""
            return text if text.endswith("\n") else ""

        found: str = wait_until(complete_text, what=f"the file {name}")
        return found.strip()

    def process_identities(self, name: str) -> list[tuple[int, str]]:
        """Return the processes whose pids are in a file."""
        return [process_identity(int(pid)) for pid in self.wait_for_file(name).split()]

    def connect(self) -> socket.socket:
        """Wait for the runner's control socket, and return a connection to it."""

        def try_to_connect() -> socket.socket | None:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(SECONDS_MAX)
            previous = Path.cwd()
            os.chdir(self.folder)  # a test's path may be longer than a socket's address
            try:
                sock.connect(runner_folder.CONTROL_SOCKET)
            except OSError:
                sock.close()
                return None
            finally:
                os.chdir(previous)
            return sock

        found: socket.socket = wait_until(try_to_connect, what="a connection")
        return found

    def send_request(self, **request: Any) -> dict[str, Any]:
        with self.connect() as sock:
            send_request(sock, request)
            kind, payload = receive_frame(sock)
        assert kind == frames.ANSWER
        answer: dict[str, Any] = json.loads(payload)
        return answer

    def write(self, data: bytes) -> None:
        assert self.send_request(do=runner_requests.WRITE, data=base64.b64encode(data).decode())[runner_requests.OK]

    def transcript_output(self) -> str:
        """Return the output in the runner's transcript."""
        return "".join(event[2] for event in self.events() if event[1] == "o")

    def events(self) -> list[list[Any]]:
        lines: list[str] = []
        for name in (runner_folder.OLDER_TRANSCRIPT, runner_folder.TRANSCRIPT):
            path = self.folder / name
            lines += path.read_text().splitlines()[1:] if path.exists() else []
        return [json.loads(line) for line in lines]

    def end_processes(self) -> None:
        """End the runner and its agent, if they still run. Only recorded processes are ended."""
        with contextlib.suppress(OSError, ValueError):
            note = json.loads((self.folder / runner_folder.IDENTITY).read_bytes())
            if is_running((note["program"], note["program_started"])):
                os.killpg(note["program"], signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(SECONDS_MAX)


def send_request(sock: socket.socket, request: dict[str, Any], kind: bytes = frames.QUERY) -> None:
    payload = json.dumps(request).encode()
    sock.sendall(frames.pack_frame(kind, payload))


def receive_frame(sock: socket.socket) -> tuple[bytes, bytes]:
    head = _read_bytes(sock, frames.HEAD_BYTES)
    return head[:1], _read_bytes(sock, frames.payload_bytes(head))


def _read_bytes(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        assert more, "the runner hung up"
        data += more
    return data
