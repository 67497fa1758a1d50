"""Commands of `bd` get the environment of their project, and their arguments keep texts apart from flags."""

from __future__ import annotations

from maestro.domain.priorities import Priority
from maestro.trackers.base import NewIssue
from maestro.trackers.beads import commands


def test_a_call_gets_only_the_variables_of_its_project_and_actor() -> None:
    outer = {
        "PATH": "/bin", "BEADS_DIR": "/elsewhere", "BD_ACTOR": "me", "BEADS_ACTOR": "me", "BD_DB": "x",
        "MAESTRO_TOKEN": "secret", "BEADS_MAIL_DELEGATE": "x",
    }  # fmt: skip
    inner = commands.call_environment(outer, folder="/p/.beads", actor="keeper")
    assert inner["BEADS_DIR"] == "/p/.beads" and inner["PATH"] == "/bin"
    assert inner["BEADS_ACTOR"] == inner["BD_ACTOR"] == "keeper"
    assert not {"MAESTRO_TOKEN", "BD_DB", "BEADS_MAIL_DELEGATE"} & inner.keys()
    assert "BD_ACTOR" not in commands.call_environment(outer, folder="/p/.beads", actor="")


def test_a_text_cannot_be_read_as_a_flag() -> None:
    new = NewIssue(
        title="--json", description="-x", priority=Priority.CRITICAL, actor="a", outside_ref="maestro:tsk_1"
    )
    command = commands.create_command(new)
    assert command[-2:] == ["--", "--json"] and command[command.index("-d") + 1] == "-x"
    assert command[command.index("-p") + 1] == "0"
    comment = commands.add_comment_command("bd-1", "--claim", actor="a")
    assert comment[-2:] == ["--", "--claim"]
