"""What `maestro` does on this side: the commands that need no server, and what follows when none answers.

`thin` loads this when the server says that a command is local, or does not answer. A new local command is
a line in COMMANDS, and one in the server's own list so that it says so.
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
    """Runs a local command and gives its exit code."""
    name, *rest = arguments or [""]
    if name not in COMMANDS:
        raise thin.Ended(
            thin.FAILED,
            f"the server says that `{name}` runs on this side, but client {__version__} does not know it",
        )
    return COMMANDS[name](rest)


def go_on(handed: bytes) -> int:
    """Goes on with what the server left to this side: something that a person looks at, and that outlives it."""
    os.environ.pop("MAESTRO_LOCAL", None)
    return int(importlib.import_module("maestro.client.live").run(handed))


def after_silence(arguments: list[str]) -> int:
    """The server went away before its first word. What runs on this side was not the server's to do anyway."""
    os.environ.pop("MAESTRO_SILENCE", None)
    if arguments and arguments[0] in COMMANDS:
        return run(arguments)
    raise thin.Ended(thin.NO_SERVER, thin.ENDED)


def without_server(arguments: list[str], *, path: str, problem: OSError | None) -> _socket.socket:
    """Goes on when no server answered at `path`: gives a connection after all, or ends the command."""
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
        # Only the person's own command starts a server: an agent was told where one should be.
        named = thin.setting("MAESTRO_SOCKET")
        remedy = "MAESTRO_SOCKET names it: mend or unset that" if named else "the person starts one with: maestro up"
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
    """Answer `status` and `down` where no server answers: name the process that holds the data directory."""
    from maestro.client import server_locks

    home = Path(thin.home()).absolute()
    pid = server_locks.server_pid(home)
    if pid is None:
        thin.put(1, os.fsencode(f"no server runs for {home}\n"))
        return thin.NO_SERVER if command == "status" else 0
    said = f"the server for {home} (pid {pid}) does not answer\n"
    stopped = server_locks.supervisor_pid(home) or pid
    if command == "down" and stopped:  # 0: the lock does not say whose it is
        os.kill(stopped, signal.SIGTERM)
        said = f"{said}it was told to stop; if it does not: kill -KILL {pid}\n"
    thin.put(1, os.fsencode(said))
    return thin.NO_SERVER


def wait_for_server(path: str, problem: OSError) -> _socket.socket:
    """Connect to the server that a supervisor is starting again. Never start one: an agent runs this."""
    from maestro.client import start

    if (sock := start.join(path)) is not None:
        return sock
    raise thin.Ended(
        thin.NO_SERVER,
        f"no server answers at {path}: {problem.strerror}\nthe person starts one with: maestro up",
    )


def ask_elsewhere(arguments: list[str]) -> int:
    """Asks the server at MAESTRO_SERVER_URL."""
    return int(importlib.import_module("maestro.client.remote").run(arguments))


def up(arguments: list[str]) -> int:
    from maestro.client import start

    return start.up(arguments)


def restore(arguments: list[str]) -> int:
    if any(map(thin.setting, ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID"))):
        raise thin.Ended(thin.NOT_PERMITTED, "only the person restores a backup; this is a session's environment")
    from maestro.client import start

    return start.restore(arguments)


def demo(arguments: list[str]) -> int:
    return int(importlib.import_module("maestro.demo").main(arguments))


def version(_arguments: list[str]) -> int:
    # The native client says that it was first before it hands over.
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
