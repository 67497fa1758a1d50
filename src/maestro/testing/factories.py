"""Factories of values for tests. A test names only the fields that matter to it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from maestro.core import ids
from maestro.domain.asks import Ask, AskKind, AskStatus
from maestro.domain.members import Member, Permission
from maestro.domain.messages import Message, MessageStatus, MessageType, ReceivedMessage, Sender, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.runs import Run, RunStatus, RunStrategy
from maestro.domain.sessions import Session, SessionMode, SessionStatus, StatusSource
from maestro.domain.spawns import Spawn
from maestro.domain.tasks import Task, TaskStatus

_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def make_session(**fields: Any) -> Session:
    """Return a worker of project vc that has just registered."""
    values: dict[str, Any] = {
        "id": ids.new_id("ses", _AT),
        "project_id": "prj_00000000000000000000000000",
        "workspace_id": None,
        "address": None,
        "name": "parser",
        "mode": SessionMode.EXECUTE,
        "status": SessionStatus.WORKING,
        "parent_id": None,
        "human": "dana",
        "pid": None,
        "pid_started": None,
        "lease_until": _AT,
        "created_at": _AT,
        "updated_at": _AT,
        "ended_at": None,
        "member": None,
        "tool": None,
        "tasks": [],
        "status_source": StatusSource.REPORT,
        "status_at": _AT,
        "status_until": None,
        "seen_at": _AT,
        "successor_id": None,
    }
    return Session(**(values | fields))


def make_task(**fields: Any) -> Task:
    """Return a new task of project vc."""
    number = fields.get("number", 1)
    values: dict[str, Any] = {
        "id": ids.new_id("tsk", _AT),
        "project_id": "prj_00000000000000000000000000",
        "ref": f"vc#{number}",
        "number": number,
        "title": "A task",
        "description": "",
        "status": TaskStatus.TODO,
        "priority": Priority.NORMAL,
        "ready": True,
        "stage": None,
        "parent_id": None,
        "found_in": None,
        "member": None,
        "accept": [],
        "gates": [],
        "archived": False,
        "reason": "",
        "holder": None,
        "holder_name": None,
        "fence": 0,
        "lease_seconds": None,
        "lease_until": None,
        "open_blockers": 0,
        "stage_held": False,
        "created_by": "dana",
        "created_at": _AT,
        "updated_at": _AT,
        "started_at": None,
        "finished_at": None,
    }
    return Task(**(values | fields))


def make_member(**fields: Any) -> Member:
    """Return a member of project vc with a name and a role."""
    name = fields.get("name", "ada")
    values: dict[str, Any] = {
        "id": ids.new_id("mem", _AT),
        "project_id": "prj_00000000000000000000000000",
        "name": name,
        "role": "Engineer",
        "identity": "",
        "avatar": "",
        "mail_id": f"@{name}",
        "skills": [],
        "model": None,
        "tool": None,
        "permission": None,
        "allow": [],
        "deny": [],
        "archived": False,
        "created_by": "dana",
        "created_at": _AT,
        "updated_at": _AT,
    }
    return Member(**(values | fields))


def make_ask(**fields: Any) -> Ask:
    """Return an open question of session parser."""
    values: dict[str, Any] = {
        "id": ids.new_id("ask", _AT),
        "project_id": "prj_00000000000000000000000000",
        "session_id": "ses_1",
        "asked_by": "parser",
        "kind": AskKind.QUESTION,
        "title": "Which port?",
        "text": "",
        "choices": [],
        "task_id": None,
        "message_id": None,
        "status": AskStatus.OPEN,
        "answer": None,
        "answered_by": None,
        "created_at": _AT,
        "answered_at": None,
    }
    return Ask(**(values | fields))


def make_message(kind: type[Message] = Message, **fields: Any) -> Any:
    """Return a directive from session boss to parser; with `kind` Received, as its recipient sees it."""
    message_id = fields.get("id", ids.new_id("msg", _AT))
    values: dict[str, Any] = {
        "id": message_id,
        "seq": 1,
        "thread_id": message_id,
        "parent_id": None,
        "type": MessageType.DIRECTIVE,
        "priority": Priority.NORMAL,
        "subject": "Grammar changed",
        "body": "Rebase before you go on.",
        "sender": Sender(SenderKind.SESSION, "ses_2", "boss", "dave/vc", "dana", "vc"),
        "to": ["parser"],
        "scope": None,
        "task_id": None,
        "task": None,
        "hops": 0,
        "attachments": [],
        "created_at": _AT,
    }
    if kind is ReceivedMessage:
        values |= {"mailbox": "ses_1", "status": MessageStatus.SENT, "reason": None, "claimed_by": None}
    return kind(**(values | fields))


def make_spawn(session_id: str, **fields: Any) -> Spawn:
    """Return the record of a program that Maestro started for a session in the checkout of project vc."""
    values: dict[str, Any] = {
        "session_id": session_id,
        "tool": "command",
        "arguments": ["true"],
        "model": None,
        "permission": Permission.EDIT,
        "strategy": "simple",
        "template": "execute-simple",
        "directory": "/src/dave/vc",
        "run_id": None,
        "runner_pid": None,
        "runner_started": None,
        "exit_code": None,
        "exit_signal": None,
        "tail": None,
        "created_at": _AT,
        "ended_at": None,
    }
    return Spawn(**(values | fields))


def make_run(task_id: str, **fields: Any) -> Run:
    """Return a run of the person that works off a task of project vc."""
    values: dict[str, Any] = {
        "id": ids.new_id("run", _AT),
        "project_id": "prj_00000000000000000000000000",
        "task_id": task_id,
        "strategy": RunStrategy.DAG,
        "max_parallel": 2,
        "attempts_max": 2,
        "member": None,
        "tool": "command",
        "arguments": ["true"],
        "worktrees": False,
        "directory": "/src/dave/vc",
        "branch": None,
        "status": RunStatus.RUNNING,
        "note": "",
        "started_by": "dana",
        "created_at": _AT,
        "ended_at": None,
    }
    return Run(**(values | fields))
