"""The words for bd, and what of our environment it sees."""

from __future__ import annotations

import pytest

from maestro.domain.tasks import Priority
from maestro.trackers.base import NewIssue
from maestro.trackers.beads import commands, generations


def test_a_call_sees_this_project_and_this_name_alone() -> None:
    outer = {
        "PATH": "/bin", "BEADS_DIR": "/elsewhere", "BD_ACTOR": "me", "BEADS_ACTOR": "me", "BD_DB": "x",
        "MAESTRO_TOKEN": "secret", "BEADS_MAIL_DELEGATE": "x",
    }  # fmt: skip
    inner = commands.call_environment(outer, folder="/p/.beads", actor="keeper")
    assert inner["BEADS_DIR"] == "/p/.beads" and inner["PATH"] == "/bin"
    assert inner["BEADS_ACTOR"] == inner["BD_ACTOR"] == "keeper"
    assert not {"MAESTRO_TOKEN", "BD_DB", "BEADS_MAIL_DELEGATE"} & inner.keys()
    assert "BD_ACTOR" not in commands.call_environment(outer, folder="/p/.beads", actor="")


def test_texts_stand_where_no_flag_is_read() -> None:
    new = NewIssue(
        title="--json", description="-x", priority=Priority.CRITICAL, actor="a", outside_ref="maestro:tsk_1"
    )
    words = commands.create_command(new)
    assert words[-2:] == ["--", "--json"] and words[words.index("-d") + 1] == "-x"
    assert words[words.index("-p") + 1] == "0"
    said = commands.add_comment_command("bd-1", "--claim", actor="a")
    assert said[-2:] == ["--", "--claim"]


@pytest.mark.parametrize(
    ("text", "version", "counts"),
    [
        ("bd version 0.46.0 (dev: main@abc)", (0, 46, 0), False),
        ("bd version 0.50.3", (0, 50, 3), True),
        ('{"version": "1.0.5", "commit": "1.2"}', (1, 0, 5), True),
        ("bd version 2.1", (2, 1, 0), True),
    ],
)
def test_which_generation(text: str, version: tuple[int, int, int], counts: bool) -> None:
    found = generations.parse_generation(text)
    assert found is not None and found.version == version and found.counts_comments is counts
    assert not generations.is_too_old(found)


def test_what_is_none_or_too_old() -> None:
    assert generations.parse_generation("command not found") is None
    old = generations.parse_generation("bd version 0.9.2")
    assert old is not None and generations.is_too_old(old)
