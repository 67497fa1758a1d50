"""Starts the server: in the background for a first command and `up`, in the foreground on demand.

Knows how the server is called and how it says that it is ready (docs/frames.md), and nothing else of it.
"""

from __future__ import annotations

import _socket
import argparse
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

from maestro.client import call, thin

START_SECONDS_MAX = 15.0
RETRY_SECONDS = 0.02
LOG_LINES_MAX = 20

# Who asked, and how, is nothing to a server that outlives the one who asked.
CALLERS_OWN = {
    "MAESTRO_TOKEN",
    "MAESTRO_SESSION_ID",
    "MAESTRO_PROJECT_ID",
    "MAESTRO_TASK_IDS",
    "MAESTRO_MODE",
    "MAESTRO_STRATEGY",
    "MAESTRO_ORCHESTRATOR_STRATEGY",
    "MAESTRO_SOCKET",
    "MAESTRO_SERVER_URL",
    "MAESTRO_CLIENT",
    "MAESTRO_READY_FD",
}


def connection(path: str) -> _socket.socket:
    """A first command's connection, to a server that is started for it."""
    pid, sock = start(path)
    if pid is not None and os.isatty(2):
        thin.put(2, f"maestro: started the server (pid {pid})\n".encode())
    return sock


def up(arguments: list[str]) -> int:
    """`maestro up`: starts the server, or says that it runs."""
    parser = argparse.ArgumentParser(prog="maestro up", description="Start the server.")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port of the loopback interface")
    parser.add_argument("--foreground", action="store_true", help="stay in the foreground, log to the terminal")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    chosen = parser.parse_args(arguments)
    options = [] if chosen.port is None else ["--port", str(chosen.port)]
    path = str(home() / "maestro.sock")
    pid = None
    if not answers(path):
        if chosen.foreground:
            become(*options)
        pid, sock = start(path, *options)
        sock.close()
    found = recovered(path, as_json=chosen.json)
    if chosen.json:
        told = {"home": str(home()), "started": pid is not None, "pid": pid, "recovery": json.loads(found or b"null")}
        thin.put(1, json.dumps(told).encode() + b"\n")
        return 0
    said = f"a server already runs for {home()}" if pid is None else f"started the server for {home()} (pid {pid})"
    thin.put(1, os.fsencode(said + "\n") + found)
    return 0


def recovered(path: str, *, as_json: bool) -> bytes:
    """What the server says was running when it started; nothing if it does not say."""
    names = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")
    environment = {name: value for name in names if (value := thin.setting(name))}
    words = ["recovery", "--json"] if as_json else ["recovery"]
    try:
        answer = call.ask(words, path=path, environment=environment)
    except OSError:
        return b""
    return answer.out if answer.code == 0 else b""


def restore(arguments: list[str]) -> int:
    """`maestro restore FILE`: the server program does it, in the foreground."""
    parser = argparse.ArgumentParser(prog="maestro restore", description="Restore the data from a backup.")
    parser.add_argument("file", metavar="FILE", type=Path, help="what `maestro backup` wrote")
    chosen, rest = parser.parse_known_args(arguments)
    return become("--restore", str(chosen.file.absolute()), *rest)


def home() -> Path:
    return Path(thin.home()).absolute()


def answers(path: str) -> bool:
    try:
        thin.connect(path).close()
    except OSError:
        return False
    return True


def server(directory: Path, *options: str) -> list[str]:
    # -P: a module in the present directory must not stand in for one of the server's.
    return [sys.executable, "-P", "-m", "maestro.server", "--home", str(directory), *options]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in CALLERS_OWN}


def become(*options: str) -> NoReturn:
    """Runs the server program in the foreground, in place of this one."""
    command = server(make_home(), *options)
    os.execve(command[0], command, environment())


def make_home() -> Path:
    directory = home()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise thin.Ended(thin.NO_SERVER, f"cannot make the data directory: {error}") from None
    return directory


def start(path: str, *options: str) -> tuple[int | None, _socket.socket]:
    """Starts the server in the background and connects: its pid, or None if another command was faster."""
    until = time.monotonic() + START_SECONDS_MAX
    directory = make_home()
    log = directory / "server.log"
    try:
        with log.open("ab") as output:
            logged = output.tell()
            pid, ready = launch(server(directory, *options), output=output.fileno())
    except OSError as error:
        raise thin.Ended(thin.NO_SERVER, f"cannot start the server: {error}") from None
    said = first_line(ready, until=until)
    os.close(ready)
    if said not in ("ready", "busy"):
        raise thin.Ended(thin.NO_SERVER, f"the server did not start: {reason(said, log, since=logged)}")
    return (pid if said == "ready" else None), connect(path, until=until)


def launch(command: list[str], *, output: int) -> tuple[int, int]:
    """A process that outlives this one, and the descriptor on which it says that it is ready."""
    ready, told = os.pipe()
    try:
        child = subprocess.Popen(
            command,
            cwd="/",
            env=environment() | {"MAESTRO_READY_FD": str(told)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(told,),
            start_new_session=True,
        )
    finally:
        os.close(told)
    child.returncode = 0  # nobody here waits for it
    return child.pid, ready


def first_line(fd: int, *, until: float) -> str | None:
    """What the server says of its start; empty if it ended without a word, None if it took too long."""
    said = b""
    while b"\n" not in said:
        if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
            return None
        if not (more := os.read(fd, 4096)):
            break
        said += more
    return said.partition(b"\n")[0].decode(errors="replace")


def reason(said: str | None, log: Path, *, since: int) -> str:
    """Why it did not start, as far as it is known."""
    if said is None:
        return f"it was not ready within {START_SECONDS_MAX:.0f} s; see {log}"
    if said:
        return said.removeprefix("error: ")
    with log.open("rb") as lines:
        lines.seek(since)
        written = lines.read().decode(errors="replace").splitlines()
    return "\n".join([f"from {log}:", *written[-LOG_LINES_MAX:]])


def connect(path: str, *, until: float) -> _socket.socket:
    """Connects to a server that has begun to start; another command's may take a moment longer."""
    while True:
        try:
            return thin.connect(path)
        except OSError as error:
            if time.monotonic() > until:
                raise thin.Ended(thin.NO_SERVER, f"no server answers at {path}: {error.strerror}") from None
        time.sleep(RETRY_SECONDS)
