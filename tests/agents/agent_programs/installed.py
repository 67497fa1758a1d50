"""Install the pinned programs with npm into a cache outside the checkout, once.

As a program, this module exits with 0 if the programs are installed, with 75 if they cannot be installed now (no npm,
or the registry is not reachable), and with 1 for other errors.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = Path(__file__).parents[1] / "pins"
NOT_NOW = 75  # EX_TEMPFAIL of sysexits.h: try again later
_INSTALL_SECONDS_MAX = 600
_PING_SECONDS_MAX = 60
_PATIENCE = ("--fetch-timeout=60000", "--fetch-retries=2", "--fetch-retry-mintimeout=1000")
_CLAUDE = "node_modules/@anthropic-ai/claude-code"


class NotNow(Exception):
    """The error that the programs cannot be installed now, for a reason outside Maestro."""


def _folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    pins = hashlib.sha256((PINS / "package-lock.json").read_bytes()).hexdigest()
    return caches / "maestro-agents" / pins[:16]


# The folder of these versions. The path is computed at import, before a test has its own home.
FOLDER = _folder()


def program(name: str) -> str:
    """Return the path of a program."""
    return str(FOLDER / "node_modules" / ".bin" / name)


def install() -> None:
    """Install the three programs if they are not installed."""
    if FOLDER.is_dir():
        return
    if shutil.which("npm") is None:
        raise NotNow("there is no npm")
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent, prefix="partial-") as made:
        partial = Path(made) / "all"
        shutil.copytree(PINS, partial)
        _fill(partial)
        try:
            partial.rename(FOLDER)
        except OSError:
            if not FOLDER.is_dir():  # otherwise another process has installed the programs meanwhile
                raise


def _fill(partial: Path) -> None:
    # Only the install script of claude is needed: it puts the binary into place. The other packages' scripts build
    # parts that the programs do not need.
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", *_PATIENCE]
    try:
        subprocess.run(words, cwd=partial, check=True, stdin=subprocess.DEVNULL, timeout=_INSTALL_SECONDS_MAX)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        if _has_registry():
            raise
        raise NotNow("npm's registry is not in reach") from None
    subprocess.run(["node", "install.cjs"], cwd=partial / _CLAUDE, check=True, stdin=subprocess.DEVNULL, timeout=60)


def _has_registry() -> bool:
    try:
        done = subprocess.run(
            ["npm", "ping", *_PATIENCE], capture_output=True, timeout=_PING_SECONDS_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> None:
    if not FOLDER.is_dir():
        print(f"— installing the agent programs (0.9 GB) in {FOLDER}", flush=True)
    try:
        install()
    except NotNow as reason:
        print(f"The agent programs cannot be installed: {reason}.", file=sys.stderr)
        sys.exit(NOT_NOW)


if __name__ == "__main__":
    main()
