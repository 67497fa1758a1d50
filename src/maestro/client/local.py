"""The local commands of `maestro`, which need no server, and the handling of a server that does not answer.

`thin` loads this module when the server says that a command is local, or when no server answers. A new local command
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
from maestro.client import thin

NOBODY_LISTENS = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


def run(arguments: list[str]) -> int:
    """Run a local command and return its exit code."""
    name, *rest = arguments or [""]
    if name not in COMMANDS:
        raise thin.Ended(
            thin.FAILED,
            f"client {__version__} does not know the local command `{name}`; compare the versions: maestro doctor",
        )
    return COMMANDS[name](rest)


def go_on(handed: bytes) -> int:
    """Show the view that the server handed over to the client, such as an attached terminal."""
    os.environ.pop("MAESTRO_LOCAL", None)
    return int(importlib.import_module("maestro.client.live").run(handed))


def after_silence(arguments: list[str]) -> int:
    """Run a local command although the server went away before its first frame; refuse every other command."""
    os.environ.pop("MAESTRO_SILENCE", None)
    if arguments and arguments[0] in COMMANDS:
        return run(arguments)
    raise thin.Ended(thin.NO_SERVER, thin.ENDED)


def without_server(arguments: list[str], *, path: str, problem: OSError | None) -> _socket.socket:
    """Start or join a server when no server answered at `path`, and connect; or end the command."""
    command = arguments[0] if arguments else ""
    if command in COMMANDS:
        raise SystemExit(run(arguments))
    if thin.setting("MAESTRO_SERVER_URL"):
        raise SystemExit(ask_elsewhere(arguments))
    if problem is not None and not isinstance(problem, NOBODY_LISTENS):
        raise thin.Ended(thin.NO_SERVER, f"cannot reach the server at {path}: {problem.strerror}")
    from maestro.client import start

    if (sock := start.join(path)) is not None:
        return sock
    if start.agent_mark():
        # Only the person's own command starts a server: the agent's environment names the socket of its server.
        named = thin.setting("MAESTRO_SOCKET")
        remedy = "correct or unset MAESTRO_SOCKET" if named else "the person starts a server with: maestro up"
        raise thin.Ended(thin.NO_SERVER, f"no server answers at {path}\n{remedy}")
    if command in ("status", "down"):
        raise SystemExit(tell_of_silent_server(command))
    try:
        return start.connection(path)
    except thin.Ended as refused:
        if command != "backup":
            raise
        raise SystemExit(start.back_up_offline(arguments[1:], refused.message)) from None


def tell_of_silent_server(command: str) -> int:
    """Answer `status` and `down` when no server answers: name the process that holds the data directory."""
    from maestro.client import server_locks

    home = Path(thin.home()).absolute()
    pid = server_locks.server_pid(home)
    if pid is None:
        thin.put(1, os.fsencode(f"no server runs for {home}\n"))
        return thin.NO_SERVER if command == "status" else 0
    text = f"the server for {home} (pid {pid}) does not answer\n"
    stopped = server_locks.supervisor_pid(home) or pid
    if command == "down" and stopped:  # 0: the lock file does not name its process
        os.kill(stopped, signal.SIGTERM)
        text = f"{text}Maestro asked the server to stop; to end the server by force: kill -KILL {pid}\n"
    thin.put(1, os.fsencode(text))
    return thin.NO_SERVER


def wait_for_server(path: str, problem: OSError) -> _socket.socket:
    """Connect to the server that a supervisor is restarting. Never start a server: an agent runs this command."""
    from maestro.client import start

    if (sock := start.join(path)) is not None:
        return sock
    raise thin.Ended(
        thin.NO_SERVER,
        f"no server answers at {path}: {problem.strerror}\nthe person starts a server with: maestro up",
    )


def ask_elsewhere(arguments: list[str]) -> int:
    """Run the command against the server at MAESTRO_SERVER_URL."""
    return int(importlib.import_module("maestro.client.remote").run(arguments))


def up(arguments: list[str]) -> int:
    from maestro.client import start

    return start.up(arguments)


def restore(arguments: list[str]) -> int:
    if any(map(thin.setting, ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID"))):
        raise thin.Ended(thin.NOT_PERMITTED, "only the person restores a backup; a session runs this command")
    from maestro.client import start

    return start.restore(arguments)


def demo(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.demo").main(arguments))


def version(_arguments: list[str]) -> int:
    # The native client sets MAESTRO_CLIENT before it becomes the Python client.
    kind = "native" if thin.setting("MAESTRO_CLIENT") == "native" else "python"
    thin.put(1, f"maestro {__version__} ({kind} client)\n".encode())
    return 0


def mcp(arguments: list[str]) -> int:
    from maestro.client import relay

    return relay.run(arguments)


def connect(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.client.connect").connect(arguments))


def disconnect(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.client.connect").disconnect(arguments))


def doctor(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.client.connect").doctor(arguments))


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "up": up,
    "restore": restore,
    "demo": demo,
    "mcp": mcp,
    "connect": connect,
    "disconnect": disconnect,
    "doctor": doctor,
    "version": version,
    "--version": version,
}
