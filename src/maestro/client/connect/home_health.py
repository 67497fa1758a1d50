"""The part of `maestro doctor` that looks after the data directory: who else can read, change or replace it."""

from __future__ import annotations

from pathlib import Path

from maestro.client.connect.place import say
from maestro.system import private_home
from maestro.system.private_home import Exposed

_SHOWN_MAX = 10


def describe(exposed: list[Exposed]) -> list[tuple[str, str]]:
    """Return each exposed path in words, with what mends it; of many files only the first."""
    told = [(f"{one.path} {one.why}", _remedy(one)) for one in exposed[:_SHOWN_MAX]]
    if len(exposed) > _SHOWN_MAX:
        told.append((f"{len(exposed) - _SHOWN_MAX} more files are open to other users", private_home.FIX))
    return told


def mend(home: Path) -> None:
    """Close the data directory and its files, and replace the secrets that others could have read or written."""
    exposed = private_home.find_exposed(home)
    secrets = [one.path.name for one in exposed if one.is_secret]
    if secrets and private_home.is_in_use(home):
        say(f"{home} stays as it is: a server runs with the exposed secrets; stop it with `maestro down` first")
        return
    if any(one.path == home and one.is_foreign for one in exposed):
        return  # only its owner can close it
    private_home.mend(home, exposed)
    say(f"closed {home} to other users")
    if secrets:
        say(f"removed {' and '.join(secrets)}: the next server makes a new token and a new secret")
        say("the tokens of all sessions are void: sessions that still run must register again, or be resumed")
        say(f"other users may have changed the data: read {home / 'config.toml'}, and restore a backup if in doubt")


def _remedy(one: Exposed) -> str:
    if one.is_foreign:
        return f"set another MAESTRO_HOME, or, if you trust what is there: chown it to yourself ({one.path})"
    return f"{private_home.FIX} replaces it" if one.is_secret else f"{private_home.FIX} closes it"
