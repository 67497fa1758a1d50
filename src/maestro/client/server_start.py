"""Start the server for the person: in the background for a first command and `up`, in the foreground on demand.

The command starts a supervisor, which starts the server and restarts a server that dies. This module knows only the
command lines of both and their report that the server is ready (docs/frames.md).
"""

from __future__ import annotations

import _socket
import argparse
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, NoReturn

from maestro.client import call, main, server_locks
from maestro.system import private_home
from maestro.tools import environments
from maestro.wire import exit_codes

START_SECONDS_MAX = 15.0
RETRY_SECONDS = 0.02
LOG_LINES_MAX = 20

# Variables that describe the caller. The server outlives the caller, and must not inherit these variables.
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

# Variables in the environment of a session and of a gate.
SESSION_MARKS = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID", "MAESTRO_SOCKET", "MAESTRO_COMMAND")


def agent_mark() -> str:
    """Return the variable that shows that an agent runs this command; empty if the person runs the command."""
    return next(filter(main.read_variable, (*SESSION_MARKS, *environments.AGENT_MARKS)), "")


def start_and_connect(path: str) -> _socket.socket:
    """Start the server for a first command, and connect to the server."""
    pid, sock = start_server(path)
    if pid is not None and os.isatty(2):
        main.write_all(2, f"maestro: started the server (pid {pid})\n".encode())
    return sock


def run_up(arguments: list[str]) -> int:
    """`maestro up`: start the server, or report that a server runs."""
    parser = argparse.ArgumentParser(prog="maestro up", description="Start the server.")
    parser.add_argument("--port", type=int, metavar="N", help="listen on this port of the loopback interface")
    parser.add_argument("--foreground", action="store_true", help="stay in the foreground, log to the terminal")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    chosen = parser.parse_args(arguments)
    options = [] if chosen.port is None else ["--port", str(chosen.port)]
    path = str(data_directory() / "maestro.sock")
    pid = None
    if not is_answering(path):
        require_person()
        if chosen.foreground:
            return run_in_foreground(*options)
        pid, sock = start_server(path, *options)
        sock.close()
    recovery = recovery_report(path, as_json=chosen.json)
    if chosen.json:
        facts = {
            "home": str(data_directory()),
            "started": pid is not None,
            "pid": pid,
            "recovery": json.loads(recovery or b"null"),
        }
        main.write_all(1, json.dumps(facts).encode() + b"\n")
        return 0
    text = (
        f"a server already runs for {data_directory()}"
        if pid is None
        else f"started the server for {data_directory()} (pid {pid})"
    )
    main.write_all(1, os.fsencode(text + "\n") + recovery)
    return 0


def require_person() -> None:
    """Refuse to start a server for an agent: the server would have the agent's environment."""
    if mark := agent_mark():
        raise main.CommandEnded(
            exit_codes.NO_SERVER,
            f"only the person starts the server, and {mark} marks an agent's environment\n"
            "the person starts the server in another terminal: maestro up",
        )


def recovery_report(path: str, *, as_json: bool) -> bytes:
    """Return the server's recovery report: the sessions that ran when it started. Empty without a report."""
    arguments = ["recovery", "--json"] if as_json else ["recovery"]
    try:
        answer = call.run_on_server(arguments, socket_path=path, environment=call.caller_variables())
    except OSError:
        return b""
    return answer.out if answer.code == 0 else b""


def run_restore(arguments: list[str]) -> int:
    """`maestro restore FILE`: become the server program, which restores the backup in the foreground."""
    parser = argparse.ArgumentParser(prog="maestro restore", description="Restore the data from a backup.")
    parser.add_argument("file", metavar="FILE", type=Path, help="a file that `maestro backup` wrote")
    chosen, rest = parser.parse_known_args(arguments)
    return become_server("--restore", str(chosen.file.absolute()), *rest)


def back_up_offline(arguments: list[str], problem: str) -> int:
    """Write a backup although no server can start: the data directory may be full or read-only."""
    parser = argparse.ArgumentParser(prog="maestro backup", description="Write all data into one file.")
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to write")
    parser.add_argument("--allow-missing", action="store_true", help="leave out files that are missing or damaged")
    parser.add_argument("--json", action="store_true", help="answer in JSON")
    chosen = parser.parse_args(arguments)
    main.write_all(2, os.fsencode(f"maestro: {problem}\n  The backup is written without a server.\n"))
    options = [*(["--allow-missing"] if chosen.allow_missing else []), *(["--json"] if chosen.json else [])]
    return become_server("--backup", str(chosen.file.absolute()), *options)


def data_directory() -> Path:
    return Path(main.data_directory()).absolute()


def is_answering(path: str) -> bool:
    try:
        main.connect_to_server(path).close()
    except OSError:
        return False
    return True


def program_command(name: str, directory: Path, *options: str) -> list[str]:
    # -P: a module in the present directory must not replace a module of the program.
    return [sys.executable, "-P", "-m", f"maestro.{name}", "--home", str(directory), *options]


def server_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in CALLERS_OWN}


def become_server(*options: str) -> NoReturn:
    """Replace this process by the server program, in the foreground."""
    command = program_command("server", make_home(), *options)
    os.execve(command[0], command, server_environment())


def run_in_foreground(*options: str) -> int:
    """Run the server in the foreground until it stops; return the exit code.

    The supervisor is a separate process: while agents run, the supervisor outlives the terminal.
    """
    directory = make_home()
    pid, ready = launch_process(program_command("supervisor", directory, *options), output=None)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: os.kill(pid, signal.SIGTERM))
    line = read_start_report(ready, until=None).line
    os.close(ready)
    if line != "ready":
        main.write_all(2, b"maestro: another command is starting the server\n" if line == "busy" else b"")
        return exit_codes.FAILED
    with (directory / server_locks.SUPERVISOR).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # wait until the supervisor releases the lock
    return 0


def make_home() -> Path:
    directory = data_directory()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise main.CommandEnded(exit_codes.NO_SERVER, f"cannot make the data directory: {error}") from None
    try:
        private_home.require_private(directory)
    except private_home.NotPrivate as error:
        raise main.CommandEnded(exit_codes.NO_SERVER, f"{error.message}\n{error.hint}") from None
    return directory


def start_server(path: str, *options: str) -> tuple[int | None, _socket.socket]:
    """Start the server in the background and connect; return its pid, or None if another command was faster."""
    require_person()
    until = time.monotonic() + START_SECONDS_MAX
    directory = make_home()
    if (sock := join_server(path, until=until)) is not None:
        return None, sock
    log = directory / "server.log"
    try:
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as output:
            logged = output.tell()
            _, ready = launch_process(program_command("supervisor", directory, *options), output=output.fileno())
    except OSError as error:
        raise main.CommandEnded(exit_codes.NO_SERVER, f"cannot start the server: {error}") from None
    started = read_start_report(ready, until=until)
    os.close(ready)
    if started.line not in ("ready", "busy"):
        why = start_failure(started.line, log, since=logged)
        raise main.CommandEnded(exit_codes.NO_SERVER, f"the server did not start: {why}")
    return (started.pid if started.line == "ready" else None), connect_until(path, until=until)


def join_server(path: str, *, until: float | None = None) -> _socket.socket | None:
    """Connect to a server that runs or that its supervisor is restarting; return None if no server comes.

    The server makes a deleted socket file again within a second.
    """
    until = until if until is not None else time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < until and server_locks.is_kept_running(Path(path).parent):
        try:
            return main.connect_to_server(path)
        except OSError:
            time.sleep(RETRY_SECONDS)
    return None


def launch_process(command: list[str], *, output: int | None) -> tuple[int, int]:
    """Start a process that outlives this process; return its pid and the descriptor of its start report."""
    ready, report = os.pipe()
    try:
        child = subprocess.Popen(
            command,
            cwd="/",
            env=server_environment() | {"MAESTRO_READY_FD": str(report)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(report,),
            start_new_session=True,
        )
    finally:
        os.close(report)
    child.returncode = 0  # this process does not wait for the child
    return child.pid, ready


class StartResult(NamedTuple):
    """The result of a server's start."""

    line: str | None  # the server's line; empty if the server ended without a line, None if the start took too long
    pid: int | None  # the pid of the server


def read_start_report(fd: int, *, until: float | None) -> StartResult:
    """Read the supervisor's report: the server's pid, then the server's own line."""
    report = b""
    while more := _read_until(fd, until=until):
        report += more
    if more is None:
        return StartResult(None, None)
    lines = [*report.decode(errors="replace").splitlines(), ""]
    is_named = lines[0].startswith("pid ")
    return StartResult(lines[1] if is_named else lines[0], int(lines[0].removeprefix("pid ")) if is_named else None)


def _read_until(fd: int, *, until: float | None) -> bytes | None:
    """Return the next bytes; empty at the end, None if the time is over."""
    seconds = None if until is None else max(0.0, until - time.monotonic())
    return os.read(fd, 4096) if select.select([fd], [], [], seconds)[0] else None


def start_failure(line: str | None, log: Path, *, since: int) -> str:
    """Return the known reason why the server did not start."""
    if line is None:
        return f"the server was not ready within {START_SECONDS_MAX:.0f} s; see {log}"
    if line:
        return line.removeprefix("error: ")
    with log.open("rb") as lines:
        lines.seek(since)
        written = lines.read().decode(errors="replace").splitlines()
    return "\n".join([f"from {log}:", *written[-LOG_LINES_MAX:]])


def connect_until(path: str, *, until: float) -> _socket.socket:
    """Connect to a starting server; a server that another command starts may take a moment longer."""
    while True:
        try:
            return main.connect_to_server(path)
        except OSError as error:
            if time.monotonic() > until:
                raise main.CommandEnded(
                    exit_codes.NO_SERVER, f"no server answers at {path}: {error.strerror}"
                ) from None
        time.sleep(RETRY_SECONDS)
