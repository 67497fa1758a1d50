"""The part of `maestro doctor` that checks the data directory for access by other users."""

from __future__ import annotations

from pathlib import Path

from maestro.client.connect.place import say
from maestro.system import private_home
from maestro.system.private_home import Exposed

_SHOWN_MAX = 10


def describe(exposed: list[Exposed]) -> list[tuple[str, str]]:
    """Return a problem and its remedy for each exposed path, at most for the first paths."""
    problems = [(f"{found.path} {found.why}", _remedy(found)) for found in exposed[:_SHOWN_MAX]]
    if len(exposed) > _SHOWN_MAX:
        problems.append((f"{len(exposed) - _SHOWN_MAX} more files are open to other users", private_home.FIX))
    return problems


def mend(home: Path) -> None:
    """Close the data directory and its files to other users, and replace secrets that were open to other users."""
    exposed = private_home.find_exposed(home)
    secrets = [found.path.name for found in exposed if found.is_secret]
    if secrets and private_home.is_in_use(home):
        say(f"{home} is not changed: a server runs with the exposed secrets; stop the server first: maestro down")
        return
    if any(found.path == home and found.is_foreign for found in exposed):
        return  # only the owner of the directory can close it
    private_home.mend(home, exposed)
    say(f"closed {home} to other users")
    if secrets:
        say(f"removed {' and '.join(secrets)}: the next server makes a new token and a new secret")
        say("the tokens of all sessions are void: register running sessions again, or resume them")
        say(f"other users may have changed the data: read {home / 'config.toml'}, and restore a backup if in doubt")


def _remedy(found: Exposed) -> str:
    if found.is_foreign:
        return f"set another MAESTRO_HOME; or, if you trust the content of {found.path}, chown it to yourself"
    return f"{private_home.FIX} replaces it" if found.is_secret else f"{private_home.FIX} closes it"
