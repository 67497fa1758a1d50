"""The local commands of `maestro`, which need no server, and the handling of a server that does not answer.

`main` loads this module when the server says that a command is local, or when no server answers. A new local command
needs a line in COMMANDS, and a line in the server's list of local commands.
"""

from __future__ import annotations

import _socket
import importlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

from maestro import __version__
from maestro.client import main
from maestro.wire import exit_codes

NO_LISTENER_ERRORS = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


def run_local_command(arguments: list[str]) -> int:
    """Run a local command and return its exit code."""
    name, *rest = arguments or [""]
    if name not in COMMANDS:
        raise main.CommandEnded(
            exit_codes.FAILED,
            f"client {__version__} does not know the local command `{name}`; compare the versions: maestro doctor",
        )
    return COMMANDS[name](rest)


def show_handed_view(handed: bytes) -> int:
    """Show the view that the server handed over to the client, such as an attached terminal."""
    os.environ.pop("MAESTRO_LOCAL", None)
    return int(importlib.import_module("maestro.client.live").run(handed))


def run_after_silence(arguments: list[str]) -> int:
    """Run a local command although the server went away before its first frame; refuse every other command."""
    os.environ.pop("MAESTRO_SILENCE", None)
    if arguments and arguments[0] in COMMANDS:
        return run_local_command(arguments)
    raise main.CommandEnded(exit_codes.NO_SERVER, main.ANSWER_CUT_OFF)


def connect_without_server(arguments: list[str], *, path: str, problem: OSError | None) -> _socket.socket:
    """Start or join a server when no server answered at `path`, and connect; or end the command."""
    command = arguments[0] if arguments else ""
    if command in COMMANDS:
        raise SystemExit(run_local_command(arguments))
    if main.read_variable("MAESTRO_SERVER_URL"):
        raise SystemExit(run_on_remote_server(arguments))
    if problem is not None and not isinstance(problem, NO_LISTENER_ERRORS):
        raise main.CommandEnded(exit_codes.NO_SERVER, f"cannot reach the server at {path}: {problem.strerror}")
    from maestro.client import server_start

    if (sock := server_start.join_server(path)) is not None:
        return sock
    if server_start.agent_mark():
        # Only the person's own command starts a server: the agent's environment names the socket of its server.
        named = main.read_variable("MAESTRO_SOCKET")
        remedy = "correct or unset MAESTRO_SOCKET" if named else "the person starts a server with: maestro up"
        raise main.CommandEnded(exit_codes.NO_SERVER, f"no server answers at {path}\n{remedy}")
    if command in ("status", "down"):
        raise SystemExit(report_silent_server(command))
    try:
        return server_start.start_and_connect(path)
    except main.CommandEnded as refused:
        if command != "backup":
            raise
        raise SystemExit(server_start.back_up_offline(arguments[1:], refused.message)) from None


def report_silent_server(command: str) -> int:
    """Answer `status` and `down` when no server answers: name the process that holds the data directory."""
    from maestro.client import server_locks

    home = Path(main.data_directory()).absolute()
    pid = server_locks.server_pid(home)
    if pid is None:
        main.write_all(1, os.fsencode(f"no server runs for {home}\n"))
        return exit_codes.NO_SERVER if command == "status" else 0
    text = f"the server for {home} (pid {pid}) does not answer\n"
    stopped = server_locks.supervisor_pid(home) or pid
    if command == "down" and stopped:  # 0: the lock file does not name its process
        os.kill(stopped, signal.SIGTERM)
        text = f"{text}Maestro asked the server to stop; to end the server by force: kill -KILL {pid}\n"
    main.write_all(1, os.fsencode(text))
    return exit_codes.NO_SERVER


def wait_for_server(path: str, problem: OSError) -> _socket.socket:
    """Connect to the server that a supervisor is restarting. Never start a server: an agent runs this command."""
    from maestro.client import server_start

    if (sock := server_start.join_server(path)) is not None:
        return sock
    raise main.CommandEnded(
        exit_codes.NO_SERVER,
        f"no server answers at {path}: {problem.strerror}\nthe person starts a server with: maestro up",
    )


def run_on_remote_server(arguments: list[str]) -> int:
    """Run the command against the server at MAESTRO_SERVER_URL."""
    return int(importlib.import_module("maestro.client.remote").run(arguments))


def run_up(arguments: list[str]) -> int:
    from maestro.client import server_start

    return server_start.run_up(arguments)


def run_restore(arguments: list[str]) -> int:
    if any(map(main.read_variable, ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID"))):
        raise main.CommandEnded(
            exit_codes.NOT_PERMITTED, "only the person restores a backup; a session runs this command"
        )
    from maestro.client import server_start

    return server_start.run_restore(arguments)


def run_demo(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.demo").main(arguments))


def print_version(_arguments: list[str]) -> int:
    # The native client sets MAESTRO_CLIENT before it becomes the Python client.
    kind = "native" if main.read_variable("MAESTRO_CLIENT") == "native" else "python"
    main.write_all(1, f"maestro {__version__} ({kind} client)\n".encode())
    return 0


def run_mcp(arguments: list[str]) -> int:
    from maestro.client import mcp_relay

    return mcp_relay.run_relay(arguments)


def connect_tool(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.client.connect").connect(arguments))


def disconnect_tool(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.client.connect").disconnect(arguments))


def run_doctor(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.client.connect").doctor(arguments))


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "up": run_up,
    "restore": run_restore,
    "demo": run_demo,
    "mcp": run_mcp,
    "connect": connect_tool,
    "disconnect": disconnect_tool,
    "doctor": run_doctor,
    "version": print_version,
    "--version": print_version,
}
