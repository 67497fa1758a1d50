"""Installs the pinned programs with npm into a cache outside the checkout, once.

Run as a program it ends with 0 if they are there, with 75 if they are not to be had just now (no npm, no registry
in reach), and with 1 if something else is wrong.
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
NOT_NOW = 75  # as sysexits.h has it: try again later
_INSTALL_SECONDS_MAX = 600
_PING_SECONDS_MAX = 60
_PATIENCE = ("--fetch-timeout=60000", "--fetch-retries=2", "--fetch-retry-mintimeout=1000")
_CLAUDE = "node_modules/@anthropic-ai/claude-code"


class NotNow(Exception):
    """They cannot be installed here and now, which is nobody's mistake."""


def _folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    pins = hashlib.sha256((PINS / "package-lock.json").read_bytes()).hexdigest()
    return caches / "maestro-agents" / pins[:16]


# Where these versions are, or would be: found before a test has a home of its own.
FOLDER = _folder()


def program(name: str) -> str:
    """The path of one of them."""
    return str(FOLDER / "node_modules" / ".bin" / name)


def install() -> None:
    """All three, if they are not there."""
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
            if not FOLDER.is_dir():  # else someone else was quicker
                raise


def _fill(partial: Path) -> None:
    # Of the packages' own scripts only claude's is needed: it puts the binary in its place. The others build what the
    # programs do without.
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
