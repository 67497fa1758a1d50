"""Where this is done: the data directory, the project, the server if one answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from maestro.client import call, start, thin


def home() -> Path:
    return Path(thin.home()).absolute()


def project() -> Path:
    """The top of the checkout around the present directory, or that directory."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def ask(*words: str) -> Any:
    """The server's answer in JSON; None if there is no server, or it refuses."""
    names = ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")
    environment = {name: value for name in names if (value := thin.setting(name))}
    try:
        answer = call.ask([*words, "--json"], path=thin.socket_path(), environment=environment)
    except OSError:
        return None
    return json.loads(answer.out) if answer.code == 0 and answer.out else None


def start_server() -> bool:
    """A server, started if need be and if this caller may; whether there is one."""
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
    """Settings are the person's own; an agent does not change them."""
    told = any(map(thin.setting, ("MAESTRO_TOKEN", "MAESTRO_SESSION_ID")))
    known = None if told else ask("whoami")
    if told or (isinstance(known, dict) and known.get("session")):
        raise thin.Ended(thin.NOT_PERMITTED, f"only the person {what}; this is a session")


def say(text: str = "") -> None:
    thin.put(1, os.fsencode(text + "\n"))
