"""Helpers of the connect commands and of `doctor`: directories, requests to the server, refusals and output."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from maestro.client import call, main, server_start
from maestro.wire import exit_codes


def data_directory() -> Path:
    return Path(main.data_directory()).absolute()


def project_directory() -> Path:
    """Return the top of the checkout around the present directory; without a checkout, the present directory."""
    present = Path.cwd()
    return next((folder for folder in (present, *present.parents) if (folder / ".git").exists()), present)


def request_json(*arguments: str) -> Any:
    """Return the server's JSON answer to a command; None if no server answers, or the server refuses.

    Start no server. Send no directory, so that the answer does not depend on a project.
    """
    try:
        answer = call.run_on_server(
            [*arguments, "--json"], socket_path=main.socket_path(), environment=call.caller_variables()
        )
    except OSError:
        return None
    return json.loads(answer.out) if answer.code == 0 and answer.out else None


def start_server() -> bool:
    """Start a server if none runs, unless the server is remote or an agent runs this command.

    Return whether a server runs.
    """
    if server_start.is_answering(main.socket_path()):
        return True
    if main.read_variable("MAESTRO_SERVER_URL") or server_start.agent_mark():
        return False
    try:
        _, sock = server_start.start_server(main.socket_path())
    except main.CommandEnded:
        return False
    sock.close()
    return True


def require_person(action: str) -> None:
    """Refuse a session: the settings belong to the person, and an agent must not change the settings."""
    is_session = any(map(main.read_variable, ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")))
    identity = None if is_session else request_json("whoami")
    if is_session or (isinstance(identity, dict) and identity.get("session")):
        raise main.CommandEnded(exit_codes.NOT_PERMITTED, f"only the person {action}; a session ran this command")


def print_line(text: str = "") -> None:
    main.write_all(1, os.fsencode(text + "\n"))
