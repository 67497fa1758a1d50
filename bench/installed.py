"""A fresh `pip install .`, made once for each run, and a project in which its commands run."""

from __future__ import annotations

import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 60


@dataclass(frozen=True)
class Place:
    """A project with its own server."""

    programs: Path
    directory: Path
    env: Mapping[str, str]

    def run(self, *words: str, **extra: str) -> bytes:
        """Run an installed program to its end, and return its output."""
        return subprocess.run(
            [str(self.programs / words[0]), *words[1:]],
            cwd=self.directory,
            env={**self.env, **extra},
            check=True,
            capture_output=True,
        ).stdout


@contextmanager
def place() -> Iterator[Place]:
    """Yield an empty project in its own data directory. Stop its server at the end."""
    programs = Path(_environment().name) / "env" / "bin"
    with tempfile.TemporaryDirectory(prefix="maestro-bench-") as folder:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("MAESTRO_", "PYTHON"))}
        env["MAESTRO_HOME"] = f"{folder}/data"
        here = Place(programs, Path(folder) / "vc", env)
        here.directory.mkdir()
        here.run("maestro", "init")
        try:
            yield here
        finally:
            here.run("maestro", "down")


def medians(
    cases: Mapping[str, Callable[[], object]], before: Mapping[str, Callable[[], object]]
) -> dict[str, float]:
    """Return the median time of each case, with all cases alternating. The work in `before` is not counted."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            if name in before:
                before[name]()
            began = time.perf_counter()
            case()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


@functools.cache
def _environment() -> tempfile.TemporaryDirectory[str]:
    """Return an environment without setuptools, with the dependencies of the lock. It ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="maestro-bench-")
    root = Path(folder.name)
    subprocess.run([sys.executable, "-m", "venv", root / "env"], check=True)
    python = str(root / "env" / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    source = root / "source"
    shutil.copytree(
        Path.cwd(), source, ignore=shutil.ignore_patterns(".venv", ".git", ".bench*", "*.egg-info", "build")
    )
    subprocess.run([*pip, "--require-hashes", "-r", "requirements/run.txt"], check=True)
    subprocess.run([*pip, "--no-deps", str(source)], check=True)
    subprocess.run([python, "-m", "pip", "uninstall", "--yes", "--quiet", "setuptools"], check=True)
    subprocess.run([python, "-m", "compileall", "-q", str(root / "env")], check=False)
    return folder
