"""Tests that tracked files name no package host and no path of a developer's machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]

# The names are in pieces, so that the search does not find this file.
HOSTS = re.compile(
    "|".join([r"files\.python" + "hosted", r"pypi\." + r"org/simple", r"registry\." + "npmjs", r"deb\." + "debian"])
)
PATHS = re.compile(r"(?<![\w.])/(?:" + "root" + r"|work|home/\w+|Users/\w+)/[\w.]+")


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


def test_no_tracked_file_names_a_package_host_or_a_path_of_a_machine() -> None:
    found = []
    for file in tracked():
        text = file.read_text(errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if HOSTS.search(line) or (PATHS.search(line) and "tests/" not in str(file)):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_the_requirement_locks_name_no_package_index_and_pin_with_hashes() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        lines = lock.read_text().splitlines()
        assert not [line for line in lines if line.startswith("-") or "://" in line]
        pinned = [line for line in lines if "==" in line]
        assert pinned and all(line.endswith("\\") for line in pinned), "every pin is followed by its hashes"
