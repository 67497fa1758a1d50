"""The surroundings of a connect command: the data directory, the project, and the server if a server answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from maestro.client import call, start, thin


def home() -> Path:
    return Path(thin.home()).absolute()


def project() -> Path:
    """Return the top of the checkout around the present directory; without a checkout, the present directory."""
    present = Path.cwd()
    return next((folder for folder in (present, *present.parents) if (folder / ".git").exists()), present)


def ask(*words: str) -> Any:
    """Return the server's JSON answer to a command; None if no server answers, or the server refuses."""
    names = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")
    environment = {name: value for name in names if (value := thin.setting(name))}
    try:
        answer = call.ask([*words, "--json"], path=thin.socket_path(), environment=environment)
    except OSError:
        return None
    return json.loads(answer.out) if answer.code == 0 and answer.out else None


def start_server() -> bool:
    """Start a server if none runs and the caller may start one; return whether a server runs."""
    if start.answers(thin.socket_path()):
        return True
    if thin.setting("MAESTRO_SERVER_URL") or start.agent_mark():
        return False
    try:
        _, sock = start.start(thin.socket_path())
    except thin.Ended:
        return False
    sock.close()
    return True


def require_person(what: str) -> None:
    """Refuse a session: the settings belong to the person, and an agent must not change the settings."""
    is_session = any(map(thin.setting, ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")))
    identity = None if is_session else ask("whoami")
    if is_session or (isinstance(identity, dict) and identity.get("session")):
        raise thin.Ended(thin.NOT_PERMITTED, f"only the person {what}; a session runs this command")


def say(text: str = "") -> None:
    thin.put(1, os.fsencode(text + "\n"))
