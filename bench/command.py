"""The installed command against a bare interpreter: what every hook and every turn of an agent pays."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report import Figure

ROUNDS = 60


def figures() -> list[Figure]:
    """`maestro task list` of a fresh `pip install .`, Python and native client, alternated with `python -c pass`."""
    with tempfile.TemporaryDirectory(prefix="maestro-bench-") as folder:
        root = Path(folder)
        bin_dir = _install(root)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("MAESTRO_", "PYTHON"))}
        env["MAESTRO_HOME"] = str(root / "data")
        repository = root / "vc"
        repository.mkdir()
        try:
            return _measure(bin_dir, repository, env)
        finally:
            subprocess.run([bin_dir / "maestro", "down"], env=env, cwd=repository, capture_output=True, check=False)


def _install(root: Path) -> Path:
    """A fresh environment without setuptools; its dependencies come from the lock."""
    subprocess.run([sys.executable, "-m", "venv", root / "env"], check=True)
    bin_dir = root / "env" / "bin"
    pip = [str(bin_dir / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    source = root / "source"
    shutil.copytree(
        Path.cwd(), source, ignore=shutil.ignore_patterns(".venv", ".git", ".bench*", "*.egg-info", "build")
    )
    subprocess.run([*pip, "--require-hashes", "-r", "requirements/run.txt"], check=True)
    subprocess.run([*pip, "--no-deps", str(source)], check=True)
    subprocess.run([str(bin_dir / "python"), "-m", "pip", "uninstall", "--yes", "--quiet", "setuptools"], check=True)
    subprocess.run([str(bin_dir / "python"), "-m", "compileall", "-q", str(root / "env")], check=False)
    return bin_dir


def _measure(bin_dir: Path, repository: Path, env: dict[str, str]) -> list[Figure]:
    def run(*words: str) -> None:
        subprocess.run(
            [str(bin_dir / words[0]), *words[1:]], cwd=repository, env=env, check=True, capture_output=True
        )

    run("maestro", "init")
    for number in range(20):
        run("maestro", "task", "create", f"Task {number}")
    cases = {
        "bare": ("python", "-c", "pass"),
        "python": ("maestro-py", "task", "list"),
        "native": ("maestro", "task", "list"),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, words in cases.items():
            began = time.perf_counter()
            run(*words)
            times[name].append(time.perf_counter() - began)
    middle = {name: statistics.median(taken) for name, taken in times.items()}
    note = ", ".join(f"{name} {taken * 1000:.1f} ms" for name, taken in middle.items())
    what = "`maestro task list` against `python -c pass`"
    return [
        Figure(f"{what}, Python client", middle["python"] / middle["bare"], at_most=1.3, note=note),
        Figure(f"{what}, native client", middle["native"] / middle["bare"], at_most=0.2),
    ]
