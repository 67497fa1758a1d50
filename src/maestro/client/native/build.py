"""Compile the native client. The installation (setup.py) and the tests use this module; the client never loads it."""

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
# The ways to link the program, the best first. Some systems lack the libraries for the first ways.
LINKS: tuple[tuple[str, ...], ...] = ((),)
if sys.platform == "linux":
    LINKS = (("-static-pie", "-Wl,-z,relro,-z,now"), ("-static",), ("-pie", "-Wl,-z,relro,-z,now"), ())
SECONDS_MAX = 60


def find_compiler() -> list[str] | None:
    """Return the command of the C compiler: from CC, else the first usual compiler; None without a compiler."""
    if chosen := shlex.split(os.environ.get("CC", "")):
        return chosen if shutil.which(chosen[0]) else None
    return next(([name] for name in COMPILERS if shutil.which(name)), None)


def compile_command(program: Path, *, version: str, link: tuple[str, ...] = ()) -> list[str] | None:
    """Return the command that compiles the client to `program`; None without a compiler."""
    if (compiler_command := find_compiler()) is None:
        return None
    flags = [*FLAGS, *HARDENED, *shlex.split(os.environ.get("CFLAGS", "")), f'-DMAESTRO_VERSION="{version}"']
    if sysconfig.get_platform().endswith("universal2"):
        flags += ["-arch", "x86_64", "-arch", "arm64"]  # the wheel's tag promises both
    return [
        *compiler_command,
        *flags,
        *link,
        "-o",
        str(program),
        str(SOURCE),
        *shlex.split(os.environ.get("LDFLAGS", "")),
    ]


def compile_client(program: Path, *, version: str) -> bool:
    """Compile the client to `program`; return whether that worked.

    Link the client statically where possible: the search for libraries takes a quarter of the client's time.
    """
    return any(_compile_and_link(program, version=version, link=link) for link in LINKS)


def _compile_and_link(program: Path, *, version: str, link: tuple[str, ...]) -> bool:
    if (arguments := compile_command(program, version=version, link=link)) is None:
        return False
    try:
        subprocess.run(arguments, check=True, capture_output=True, timeout=SECONDS_MAX)
    except (OSError, subprocess.SubprocessError):
        return False
    return program.is_file()
