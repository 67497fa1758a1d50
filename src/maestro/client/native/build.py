"""Compiles the native client. Used at install (setup.py) and by the tests; the client never loads it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).with_name("maestro.c")
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra")
SECONDS_MAX = 60


def compiler() -> list[str] | None:
    """The C compiler to call: what CC says, else the first usual one."""
    if chosen := shlex.split(os.environ.get("CC", "")):
        return chosen if shutil.which(chosen[0]) else None
    return next(([name] for name in COMPILERS if shutil.which(name)), None)


def command(program: Path, *, version: str, static: bool = False) -> list[str] | None:
    """How to compile the client to `program`; None without a compiler."""
    if (called := compiler()) is None:
        return None
    flags = [*FLAGS, *shlex.split(os.environ.get("CFLAGS", "")), f'-DMAESTRO_VERSION="{version}"']
    if sysconfig.get_platform().endswith("universal2"):
        flags += ["-arch", "x86_64", "-arch", "arm64"]  # the wheel's tag promises both
    if static:
        flags.append("-static")
    return [*called, *flags, "-o", str(program), str(SOURCE), *shlex.split(os.environ.get("LDFLAGS", ""))]


def compile_client(program: Path, *, version: str) -> bool:
    """Compiles the client to `program`, and says whether that went well.

    Linked statically where the system has what that needs: finding libraries is a quarter of the client's time.
    """
    return any(_compiled(program, version=version, static=static) for static in (sys.platform == "linux", False))


def _compiled(program: Path, *, version: str, static: bool) -> bool:
    if (wanted := command(program, version=version, static=static)) is None:
        return False
    try:
        subprocess.run(wanted, check=True, capture_output=True, timeout=SECONDS_MAX)
    except (OSError, subprocess.SubprocessError):
        return False
    return program.is_file()
