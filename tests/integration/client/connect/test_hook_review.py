"""The client asks a program which hooks of Maestro the person has reviewed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from maestro.client.connect.hook_review import list_hooks
from maestro.tools import registry
from maestro.tools.connect_support import HookReview, ListedHook

# Prints other lines first, then answers the request `answer_id` with the content of the file `result`.
PROGRAM = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("id") != {answer_id}:
        continue
    print("a plain line")
    print(json.dumps({{"id": -1, "result": "other"}}))
    out = json.dumps({{"id": {answer_id}, "result": json.load(open(os.path.join({folder!r}, "result")))}}) + "\\n"
    sys.stdout.write(out[:10]); sys.stdout.flush()
    sys.stdout.write(out[10:]); sys.stdout.flush()
"""


@pytest.fixture
def review() -> HookReview:
    found = [tool.hook_review for tool in registry.CONNECTABLE.values() if tool.hook_review is not None]
    return found[0]


def install(folder: Path, script: str) -> str:
    """Return the path of a program that ignores its arguments and runs a Python script."""
    (folder / "script.py").write_text(script)
    program = folder / "program"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {folder / 'script.py'}\n")
    program.chmod(0o755)
    return str(program)


def test_the_hooks_of_maestro_are_listed_from_the_answer(review: HookReview, tmp_path: Path) -> None:
    hooks = [
        {
            "command": "/opt/maestro hook codex Stop",
            "key": "k1",
            "eventName": "stop",
            "currentHash": "h1",
            "trustStatus": "untrusted",
        },
        {"command": "lint.sh", "key": "k2", "eventName": "stop", "currentHash": "h2", "trustStatus": "trusted"},
    ]
    (tmp_path / "result").write_text(json.dumps({"data": [{"cwd": str(tmp_path), "hooks": hooks}]}))
    program = install(tmp_path, PROGRAM.format(answer_id=review.answer_id, folder=str(tmp_path)))
    listed = list_hooks(program, review, tmp_path)
    assert listed == [ListedHook("k1", "stop", "h1", is_trusted=False)]


@pytest.mark.parametrize("script", ["", "print('nonsense')", "import sys; sys.stdin.readline(); sys.exit(1)"])
def test_a_program_that_ends_without_an_answer_gives_no_list(review: HookReview, tmp_path: Path, script: str) -> None:
    assert list_hooks(install(tmp_path, script), review, tmp_path) is None


def test_a_program_that_cannot_be_started_gives_no_list(review: HookReview, tmp_path: Path) -> None:
    assert list_hooks(str(tmp_path / "missing"), review, tmp_path) is None
