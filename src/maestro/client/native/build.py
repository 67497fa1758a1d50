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
HARDENED = ("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fPIE")
# How the program is linked, the best way first; not every system has what the first ones need.
LINKS: tuple[tuple[str, ...], ...] = ((),)
if sys.platform == "linux":
    LINKS = (("-static-pie", "-Wl,-z,relro,-z,now"), ("-static",), ("-pie", "-Wl,-z,relro,-z,now"), ())
SECONDS_MAX = 60


def compiler() -> list[str] | None:
    """The C compiler to call: what CC says, else the first usual one."""
    if chosen := shlex.split(os.environ.get("CC", "")):
        return chosen if shutil.which(chosen[0]) else None
    return next(([name] for name in COMPILERS if shutil.which(name)), None)


def command(program: Path, *, version: str, link: tuple[str, ...] = ()) -> list[str] | None:
    """How to compile the client to `program`; None without a compiler."""
    if (called := compiler()) is None:
        return None
    flags = [*FLAGS, *HARDENED, *shlex.split(os.environ.get("CFLAGS", "")), f'-DMAESTRO_VERSION="{version}"']
    if sysconfig.get_platform().endswith("universal2"):
        flags += ["-arch", "x86_64", "-arch", "arm64"]  # the wheel's tag promises both
    return [*called, *flags, *link, "-o", str(program), str(SOURCE), *shlex.split(os.environ.get("LDFLAGS", ""))]


def compile_client(program: Path, *, version: str) -> bool:
    """Compiles the client to `program`, and says whether that went well.

    Linked statically where the system has what that needs: finding libraries is a quarter of the client's time.
    """
    return any(_compiled(program, version=version, link=link) for link in LINKS)


def _compiled(program: Path, *, version: str, link: tuple[str, ...]) -> bool:
    if (wanted := command(program, version=version, link=link)) is None:
        return False
    try:
        subprocess.run(wanted, check=True, capture_output=True, timeout=SECONDS_MAX)
    except (OSError, subprocess.SubprocessError):
        return False
    return program.is_file()
