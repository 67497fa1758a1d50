"""The identity file names the runner and its program, and is replaced as a whole."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from maestro.runner import process_tree
from maestro.runner.identity_file import write_identity


def test_the_identity_file_names_runner_program_and_epoch_and_is_replaced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_identity(1, 100, "5@boot")
    with Path("runner.json").open() as before:
        write_identity(2, 4321, "77@boot")
        assert json.load(before)["program"] == 100  # an open reader still reads the complete earlier file
    assert json.loads(Path("runner.json").read_text()) == {
        "epoch": 2,
        "runner": os.getpid(),
        "runner_started": process_tree.process_start(os.getpid()),
        "program": 4321,
        "program_started": "77@boot",
    }
    assert [entry.name for entry in tmp_path.iterdir()] == ["runner.json"]
