"""Find the objects that a request to send mail refers to: addresses, a task, an issue, projects."""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.addresses import Address, AddressKind, parse_address
from maestro.domain.callers import Caller
from maestro.domain.issues import Issue
from maestro.domain.projects import Project
from maestro.domain.tasks import Task
from maestro.operations import mail_shapes as ops
from maestro.services.access.scope import find_project, find_task
from maestro.services.mail.create import MailTarget
from maestro.store.base import Tx


def require_addresses(request: ops.SendMail) -> list[str]:
    """Return the addresses of the request; refuse a request without an address."""
    addresses = [*request.to, *(f"member:{name}" for name in request.to_member)]
    if request.to_coordinator:
        addresses.append("coordinator")
    if not addresses:
        raise errors.Invalid("The message has no recipient.", hint="Name a recipient: maestro mail send NAME …")
    return addresses


def is_task_address(addresses: list[str]) -> bool:
    """Return whether the only address names a task."""
    return len(addresses) == 1 and parse_address(addresses[0]).kind is AddressKind.TASK


def task_of_message(tx: Tx, caller: Caller, request: ops.WrittenMessage, addresses: list[str]) -> Task | None:
    """Return the task of a message: the task of the request, or the task that the message is addressed to."""
    if request.task:
        return find_task(tx, caller, request.task, project=request.project)
    if is_task_address(addresses):
        return find_task(tx, caller, parse_address(addresses[0]).name, project=request.project)
    return None


def addressed_issue(
    tx: Tx, caller: Caller, request: ops.WrittenMessage, addresses: list[str]
) -> tuple[Issue, Task] | None:
    """Return the issue that the only address names: by its reference, or by its project together with `--task`.

    None if there is no such issue.
    """
    task = task_of_message(tx, caller, request, addresses) if len(addresses) == 1 else None
    if task is None or task.from_project_id is None:
        return None
    if not _names_task_or_project(parse_address(addresses[0]), task):
        return None
    issue = tx.issues.of_task(task.id)
    return (issue, task) if issue else None


def _names_task_or_project(address: Address, task: Task) -> bool:
    """Return whether an address names the task or the task's project."""
    if address.kind in (AddressKind.PROJECT, AddressKind.BARE_NAME):
        return address.name.lower() in (task.project_id, task.ref.rpartition("#")[0])
    return address.kind is AddressKind.TASK


def projects_between(
    tx: Tx, caller: Caller, request: ops.WrittenMessage, target: MailTarget
) -> tuple[Project, Project] | None:
    """Return the sending and receiving project of mail to another project.

    None for mail about a task of the receiving project.
    """
    sender_id = caller.project_id or named_project_id(tx, caller, request.project)
    if sender_id is None or target.mailbox != target.project_id or target.mailbox == sender_id:
        return None
    if request.task and find_task(tx, caller, request.task, project=request.project).project_id == target.mailbox:
        return None
    sender, receiver = tx.projects.get(sender_id), tx.projects.get(target.mailbox)
    return (sender, receiver) if sender and receiver else None


def named_project_id(tx: Tx, caller: Caller, project: str) -> str | None:
    """Return the id of the project that the request names; None without a name."""
    return find_project(tx, caller, project).id if project else None
