"""A request to send mail refers to recipients, a task, an issue and projects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.services.conftest import OTHER, VC, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import issues as issue_ops
from maestro.operations.mail_shapes import SendMail
from maestro.services.issues.operations import IssueOperations
from maestro.services.mail.create import MailTarget
from maestro.services.sending import references


def mail(**fields: Any) -> SendMail:
    return SendMail(subject="s", message="m", **fields)


async def open_issue(world: World, finder: Caller) -> Any:
    """Open the issue other#1 from project vc."""
    request = issue_ops.OpenIssue(to="other", title="Crash", message="It crashes.")
    return await world.do(IssueOperations(world.guard).open_issue, request, by=finder)


def test_the_addresses_of_a_request_combine_all_kinds_of_recipients() -> None:
    request = mail(to=["w", "human"], to_member=["ada"], to_coordinator=True)
    assert references.require_addresses(request) == ["w", "human", "member:ada", "coordinator"]


def test_a_request_without_a_recipient_is_refused() -> None:
    with pytest.raises(errors.Invalid, match="no recipient"):
        references.require_addresses(mail(to=[]))


@pytest.mark.parametrize(
    ("addresses", "is_task"),
    [
        (["#1"], True),
        (["vc#1"], True),
        (["task:1"], True),
        (["tsk_00000000000000000000000000"], True),
        ([" vc#1 "], True),
        (["session:a#1"], False),
        (["vc"], False),
        (["#1", "human"], False),
    ],
)
def test_only_a_single_task_reference_is_a_task_address(addresses: list[str], is_task: bool) -> None:
    assert references.is_task_address(addresses) is is_task


async def test_the_task_of_a_message_is_the_named_task_or_else_the_addressed_task(world: World) -> None:
    task, other = await world.task(), await world.task()

    async def task_of(request: SendMail, *addresses: str) -> str | None:
        found = await world.store.read(
            lambda tx: references.task_of_message(tx, world.dana, request, list(addresses))
        )
        return found.ref if found else None

    assert await task_of(mail(project="vc", task="#1"), other.ref) == task.ref, "the named task comes first"
    for address in ("#2", " #2 ", "task:#2", "task:2", other.id):
        assert await task_of(mail(project="vc"), address) == other.ref
    assert await task_of(mail(project="vc"), "human") is None


async def test_an_issue_is_addressed_by_its_reference_or_by_its_project_and_task(world: World) -> None:
    finder = await world.join("finder")
    issue, own = await open_issue(world, finder), await world.task()

    async def issue_of(request: SendMail, *addresses: str) -> str | None:
        found = await world.store.read(lambda tx: references.addressed_issue(tx, finder, request, list(addresses)))
        return found[1].ref if found else None

    for address in (issue.ref, issue.id, f"task:{issue.ref}"):
        assert await issue_of(mail(), address) == "other#1"
    for address in ("other", "project:other", "OTHER", OTHER.id):
        assert await issue_of(mail(task=issue.ref), address) == "other#1"
    assert await issue_of(mail(task=issue.ref), "human") is None, "the recipient is not the project of the issue"
    assert await issue_of(mail(), own.ref) is None, "a task of the project of the sender is no issue"
    assert await issue_of(mail(task=issue.ref), "session:other") is None, "the recipient is a session"
    assert await issue_of(mail(), "other") is None
    assert await issue_of(mail(), issue.ref, "human") is None, "only a single address names an issue"


async def test_mail_to_another_project_has_a_sending_and_a_receiving_project(world: World) -> None:
    worker = await world.join("w")
    issue = await open_issue(world, worker)

    async def projects(request: SendMail, mailbox: str, *, by: Caller = worker) -> tuple[str, str] | None:
        target = MailTarget(mailbox, OTHER.id if mailbox == OTHER.id else VC.id)
        found = await world.store.read(lambda tx: references.projects_between(tx, by, request, target))
        return (found[0].name, found[1].name) if found else None

    assert await projects(mail(), OTHER.id) == ("vc", "other")
    assert await projects(mail(), VC.id) is None, "the sender belongs to the receiving project"
    assert await projects(mail(), worker.name) is None, "the recipient is a session"
    assert await projects(mail(task=issue.ref), OTHER.id) is None, "the mail is about a task of the receiving project"
    assert await projects(mail(), OTHER.id, by=world.dana) is None, "the person names no project"
    assert await projects(mail(project="vc"), OTHER.id, by=world.dana) == ("vc", "other")


async def test_an_empty_project_name_in_a_request_means_no_project(world: World) -> None:
    async def named(project: str) -> str | None:
        return await world.store.read(lambda tx: references.named_project_id(tx, world.dana, project))

    assert (await named(""), await named("vc")) == (None, VC.id)
    with pytest.raises(errors.NotFound):
        await named("third")
