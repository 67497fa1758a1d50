"""The dispatcher checks permissions and idempotency keys, and stores neither secrets nor refused uploads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Callers, Role
from maestro.operations import documents as document_ops
from maestro.operations import sessions as session_ops
from maestro.operations import tasks as task_ops
from maestro.operations.registry import REGISTRY
from maestro.operations.task_shapes import TaskDetail
from maestro.server.app import Server
from maestro.server.dispatch import require_permission

Join = Callable[..., Awaitable[Caller]]

# The value is "yes", "no" or "held". "held" means: only on a task that the worker holds.
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
caller.whoami       yes     yes          yes     yes
session.grant       yes     no           no      no
session.rename      yes     yes          yes     no
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
notify.test         yes     no           no      no
notify.list         yes     no           no      no
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


def test_the_table_of_permissions_lists_every_operation() -> None:
    assert [row[0] for row in _ROWS] == list(REGISTRY)


@pytest.mark.parametrize(("name", "role", "cell"), CELLS)
def test_a_role_may_call_exactly_the_operations_in_the_table(name: str, role: Role, cell: str) -> None:
    operation, caller = REGISTRY[name], Caller(role, "ada")
    if cell == "no":
        with pytest.raises(errors.NotAuthenticated if role is Role.NOBODY else errors.NotPermitted):
            require_permission(operation, caller)
    else:
        require_permission(operation, caller)
    if role is Role.WORKER:
        assert (Callers.HOLDER in operation.callers) == (cell == "held")


def test_a_member_may_be_denied_an_operation_of_its_role() -> None:
    caller = Caller(Role.COORDINATOR, "ada", deny=frozenset({"session.spawn"}))
    with pytest.raises(errors.NotPermitted, match=r"Your member may not call session\.spawn"):
        require_permission(REGISTRY["session.spawn"], caller)


def test_a_member_may_be_allowed_a_further_operation() -> None:
    caller = Caller(Role.WORKER, "ada", allow=frozenset({"session.spawn"}))
    require_permission(REGISTRY["session.spawn"], caller)


async def create_task(server: Server, caller: Caller, project: str, title: str, *, key: str) -> TaskDetail:
    request = task_ops.CreateTask(project=project, title=title)
    created: TaskDetail = await server.call(task_ops.CREATE, request, caller=caller, key=key)
    return created


async def test_a_repeated_idempotency_key_returns_the_first_answer(server: Server, dana: Caller, vc: str) -> None:
    first = await create_task(server, dana, vc, "one", key="k")
    again = await create_task(server, dana, vc, "one", key="k")
    other = await create_task(server, dana, vc, "one", key="l")
    assert again.id == first.id != other.id


async def test_an_idempotency_key_of_another_request_is_refused(server: Server, dana: Caller, vc: str) -> None:
    created = await create_task(server, dana, vc, "one", key="k")
    with pytest.raises(errors.KeyReused):
        await create_task(server, dana, vc, "two", key="k")
    with pytest.raises(errors.KeyReused):
        await server.call(task_ops.START, task_ops.StartTask(id=created.id), caller=dana, key="k")


async def test_each_caller_has_its_own_idempotency_keys(server: Server, dana: Caller, join: Join, vc: str) -> None:
    ada = await join("ada")
    first = await create_task(server, dana, vc, "one", key="k")
    assert (await create_task(server, ada, vc, "one", key="k")).id != first.id


@pytest.mark.parametrize("key", ["a\nb", "k" * (limits.idempotency_key_chars_max + 1)])
async def test_an_invalid_idempotency_key_is_refused(server: Server, dana: Caller, vc: str, key: str) -> None:
    with pytest.raises(errors.Invalid, match="idempotency key"):
        await create_task(server, dana, vc, "one", key=key)


async def test_a_repeated_registration_returns_a_token_that_the_store_does_not_hold(
    server: Server, dana: Caller, vc: str
) -> None:
    request = session_ops.RegisterSession(project=vc, name="ada")
    first = await server.call(session_ops.REGISTER, request, caller=dana, key="k")
    again = await server.call(session_ops.REGISTER, request, caller=dana, key="k")
    assert first.token and again.token == first.token
    stored = await server.store.read(lambda tx: tx.idempotency.get(dana.name, "k"))
    assert stored is not None and first.token.encode() not in bytes(stored.response)


async def test_an_ended_session_may_not_write(server: Server, dana: Caller, join: Join, vc: str) -> None:
    ada = await join("ada")
    await server.call(session_ops.END, session_ops.EndSession(), caller=ada)
    with pytest.raises(errors.NotAuthenticated):
        await create_task(server, ada, vc, "one", key="")


async def test_a_refused_upload_leaves_no_file(server: Server, dana: Caller, vc: str) -> None:
    task = await create_task(server, dana, vc, "one", key="")
    content = b"x" * (limits.inline_bytes_max + 1)
    request = document_ops.AddDocument(id=task.id, title="d", file_name="d.txt", content=content)
    await server.call(document_ops.ADD, request, caller=dana, key="k")
    (stored,) = server.blobs.all_files()
    refused = document_ops.AddDocument(id=task.id, title="d", file_name="d.txt", content=content + b"y")
    with pytest.raises(errors.KeyReused):
        await server.call(document_ops.ADD, refused, caller=dana, key="k")
    assert list(server.blobs.all_files()) == [stored]
