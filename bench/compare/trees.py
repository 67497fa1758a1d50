"""The two trees: this tree, and a commit in a temporary worktree with its own environment."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check out the commit into a temporary worktree, and build its environment with its own Makefile."""
    with tempfile.TemporaryDirectory(prefix="maestro-bench-") as folder:
        tree = Path(folder) / "base"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            subprocess.run(["make", "--silent", "-C", str(tree), ".venv/ready-dev"], env=_clean(), check=True)
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True)


class Measured:
    """A tree and the process that measures its cases. For a tree without `bench/raw`, our `bench/raw` measures."""

    def __init__(self, tree: Path, *, ours: Path) -> None:
        own = tree / "bench" / "raw"
        self._process = subprocess.Popen(
            [str(tree / ".venv" / "bin" / "python"), str(own if own.is_dir() else ours / "bench" / "raw")],
            cwd=tree,
            env=_clean(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.cases: dict[str, dict[str, Any]] = self._answer()

    def measure(self, case: str) -> list[float]:
        """Return the seconds of a round of a case."""
        assert self._process.stdin
        self._process.stdin.write(f"{case}\n")
        self._process.stdin.flush()
        times: list[float] = self._answer()
        return times

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"bench/raw in {self._process.args!r} ended with {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Measured:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


def _clean() -> dict[str, str]:
    """Return the environment without variables of make, of Python and of another Maestro."""
    unwanted = ("MAESTRO_", "PYTHON", "MAKE", "MFLAGS", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
