"""The whole table of roles and operations, cell by cell, against an expectation written apart from it."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Callers, Role
from maestro.operations.registry import REGISTRY
from maestro.server.dispatch import require_permission

# yes, no, or held: only on a task that the worker holds (see tests/unit/services/test_holding.py).
EXPECTED = """
operation           person  coordinator  worker  nobody
task.create         yes     yes          yes     no
task.list           yes     yes          yes     no
task.ready          yes     yes          yes     no
task.blocked        yes     yes          yes     no
task.tree           yes     yes          yes     no
task.wait           yes     yes          yes     no
task.show           yes     yes          yes     no
task.children       yes     yes          yes     no
task.edit           yes     yes          held    no
task.start          yes     yes          yes     no
task.release        yes     yes          held    no
task.complete       yes     yes          held    no
task.reject         yes     yes          no      no
task.block          yes     yes          held    no
task.unblock        yes     yes          held    no
task.fail           yes     yes          held    no
task.cancel         yes     yes          no      no
task.reopen         yes     yes          no      no
task.delete         yes     yes          no      no
task.depend         yes     yes          held    no
task.report         yes     yes          held    no
task.docs.add       yes     yes          held    no
task.docs.list      yes     yes          yes     no
task.docs.show      yes     yes          yes     no
task.gate           yes     yes          yes     no
issue.open          yes     yes          yes     no
issue.list          yes     yes          yes     no
issue.show          yes     yes          yes     no
issue.reply         yes     yes          yes     no
issue.claim         yes     yes          yes     no
issue.close         yes     yes          held    no
issue.reopen        yes     yes          no      no
project.init        yes     yes          yes     no
project.locate      yes     yes          yes     no
project.list        yes     yes          yes     no
project.show        yes     yes          yes     no
project.edit        yes     no           no      no
project.link        yes     yes          no      no
project.unlink      yes     yes          no      no
tracker.status      yes     yes          yes     no
tracker.sync        yes     yes          yes     no
member.create       yes     yes          no      no
member.list         yes     yes          yes     no
member.show         yes     yes          yes     no
member.edit         yes     yes          no      no
member.archive      yes     yes          no      no
team.create         yes     yes          no      no
team.list           yes     yes          yes     no
team.show           yes     yes          yes     no
team.add            yes     yes          no      no
team.remove         yes     yes          no      no
session.register    yes     yes          yes     no
session.heartbeat   no      yes          yes     no
session.end         yes     yes          yes     no
session.list        yes     yes          yes     no
session.show        yes     yes          yes     no
session.explain     yes     yes          yes     no
session.wait        yes     yes          yes     no
session.report      no      yes          yes     no
session.adopt       yes     yes          no      no
session.grant       yes     no           no      no
caller.whoami       yes     yes          yes     yes
session.primer      yes     yes          yes     no
agent.list          yes     yes          yes     no
session.spawn       yes     yes          no      no
session.prompt      yes     yes          no      no
session.interrupt   yes     yes          no      no
session.stop        yes     yes          no      no
session.resume      yes     yes          no      no
manifest.show       yes     yes          yes     no
prompt.show         yes     yes          yes     no
template.list       yes     yes          yes     no
template.show       yes     yes          yes     no
runner.report       no      yes          yes     no
tool.list           yes     yes          yes     no
hook.list           yes     yes          yes     no
session.logs        yes     yes          yes     no
session.attach      yes     yes          no      no
run.start           yes     yes          no      no
run.list            yes     yes          yes     no
run.show            yes     yes          yes     no
run.stop            yes     yes          no      no
run.resume          yes     yes          no      no
worktree.list       yes     yes          yes     no
worktree.diff       yes     yes          yes     no
worktree.merge      yes     yes          no      no
worktree.remove     yes     yes          no      no
timeline.show       yes     yes          yes     no
timeline.export     yes     yes          yes     no
file.check          yes     yes          yes     no
mail.send           yes     yes          yes     no
mail.post           yes     yes          yes     no
mail.broadcast      yes     yes          yes     no
mail.inbox          yes     yes          yes     no
mail.wait           yes     yes          yes     no
mail.show           yes     yes          yes     no
mail.thread         yes     yes          yes     no
mail.claim          yes     yes          yes     no
mail.release        yes     yes          yes     no
mail.reply          yes     yes          yes     no
mail.ack            yes     yes          yes     no
mail.status         yes     yes          yes     no
mail.sent           yes     yes          yes     no
mail.search         yes     yes          yes     no
mail.attachment     yes     yes          yes     no
mail.project_inbox  yes     yes          yes     no
mail.of_task        yes     yes          yes     no
mail.confirm        yes     yes          yes     no
ask.list            yes     yes          yes     no
ask.show            yes     yes          yes     no
ask.answer          yes     no           no      no
ask.create          no      yes          yes     no
ask.wait            yes     yes          yes     no
ask.withdraw        yes     yes          yes     no
server.status       yes     yes          yes     yes
server.stop         yes     no           no      no
server.recovery     yes     no           no      no
server.backup       yes     no           no      no
events.list         yes     yes          yes     no
config.get          yes     yes          no      no
config.set          yes     no           no      no
"""
_HEAD, *_ROWS = [line.split() for line in EXPECTED.strip().splitlines()]
CELLS = [(row[0], Role(role), cell) for row in _ROWS for role, cell in zip(_HEAD[1:], row[1:], strict=True)]


def test_every_operation_is_in_the_table() -> None:
    assert [row[0] for row in _ROWS] == list(REGISTRY)


@pytest.mark.parametrize(("name", "role", "cell"), CELLS)
def test_a_cell(name: str, role: Role, cell: str) -> None:
    operation, caller = REGISTRY[name], Caller(role, "someone")
    if cell == "no":
        with pytest.raises(errors.NotAuthenticated if role is Role.NOBODY else errors.NotPermitted):
            require_permission(operation, caller)
    else:
        require_permission(operation, caller)
    if role is Role.WORKER:
        assert (Callers.HOLDER in operation.callers) == (cell == "held")
