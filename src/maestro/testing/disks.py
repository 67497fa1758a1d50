"""A small file system for tests of a full disk, which a test can fill and free."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

MiB = 1024 * 1024


class CannotMount(Exception):
    """This machine does not let the test mount a file system."""


@contextlib.contextmanager
def mounted_disk(folder: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a small file system at a folder. Raise CannotMount if the system refuses."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={megabytes}m,mode=700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CannotMount(done.stderr.strip())
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


class SmallDisk:
    """A disk that a test fills and frees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Use every free byte."""
        with self._ballast.open("ab", buffering=0) as file:
            while free := shutil.disk_usage(self.folder).free:
                try:
                    file.write(bytes(free))
                except OSError:
                    return

    def free(self) -> None:
        """Free the used space."""
        self._ballast.unlink(missing_ok=True)
