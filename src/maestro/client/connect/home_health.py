"""The part of `maestro doctor` that checks the data directory for access by other users."""

from __future__ import annotations

from pathlib import Path

from maestro.client.connect.context import print_line
from maestro.system import private_home
from maestro.system.private_home import ExposedPath

_SHOWN_MAX = 10


def describe_exposed(exposed: list[ExposedPath]) -> list[tuple[str, str]]:
    """Return a problem and its remedy for each exposed path, at most for the first paths."""
    problems = [(f"{found.path} {found.why}", _remedy(found)) for found in exposed[:_SHOWN_MAX]]
    if len(exposed) > _SHOWN_MAX:
        problems.append((f"{len(exposed) - _SHOWN_MAX} more files are open to other users", private_home.FIX_COMMAND))
    return problems


def close_home(home: Path) -> None:
    """Close the data directory and its files to other users, and replace secrets that were open to other users."""
    exposed = private_home.find_exposed(home)
    secrets = [found.path.name for found in exposed if found.is_secret]
    if secrets and private_home.is_in_use(home):
        print_line(
            f"{home} is not changed: a server runs with the exposed secrets; stop the server first: maestro down"
        )
        return
    if any(found.path == home and found.is_foreign for found in exposed):
        return  # only the owner of the directory can close it
    private_home.repair_exposed(home, exposed)
    print_line(f"closed {home} to other users")
    if secrets:
        print_line(f"removed {' and '.join(secrets)}: the next server makes a new token and a new secret")
        print_line("the tokens of all sessions are void: register running sessions again, or resume them")
        print_line(
            f"other users may have changed the data: read {home / 'config.toml'}, and restore a backup if in doubt"
        )


def _remedy(found: ExposedPath) -> str:
    if found.is_foreign:
        return f"set another MAESTRO_HOME; or, if you trust the content of {found.path}, chown it to yourself"
    return f"{private_home.FIX_COMMAND} replaces it" if found.is_secret else f"{private_home.FIX_COMMAND} closes it"
