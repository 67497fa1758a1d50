"""Manifests for tests and benchmarks: a small team with a few tasks, or a team of any size."""

from __future__ import annotations

from typing import Any

from maestro.domain.manifests import (
    Manifest,
    ManifestCommand,
    ManifestCoordinator,
    ManifestDirective,
    ManifestDocument,
    ManifestLimits,
    ManifestMember,
    ManifestProject,
    ManifestSession,
    ManifestSkill,
    ManifestTask,
    ManifestTaskLink,
    ManifestWorkspace,
    SiblingSession,
)
from maestro.domain.members import Permission
from maestro.domain.messages import SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import SessionMode, SessionStatus
from maestro.domain.tasks import TaskStatus

_NAMES = ("ada", "grace", "linus", "barbara")
_COMMANDS = (
    ("caller.whoami", "whoami", "Show how the server identifies you."),
    ("mail.inbox", "mail inbox", "Read unread messages, most urgent first."),
    ("mail.send", "mail send", "Send a message; the message is stored before the command answers."),
    ("mail.wait", "mail wait", "Block until mail arrives; a burst comes back as one answer."),
    ("session.report", "session report", "Report to your coordinator; the report moves the task you hold."),
    ("task.show", "task show", "Show a task with its links, reports, documents and evidence."),
)


def make_member(number: int = 0, **fields: Any) -> ManifestMember:
    """Return a member of the roster."""
    name = _NAMES[number] if number < len(_NAMES) else f"member-{number}"
    values: dict[str, Any] = {
        "id": f"mem_{number:026d}",
        "name": name,
        "role": "Backend engineer" if number % 2 == 0 else "Tester",
        "identity": f"You are {name}. You prefer small changes, and tests that fail first.",
        "avatar": "🛠",
        "mail_id": f"@{name}",
        "skills": ("sql",),
        "model": "opus",
        "agent_tool": "claude",
    }
    return ManifestMember(**{**values, **fields})


def make_link(number: int, *, status: TaskStatus = TaskStatus.TODO) -> ManifestTaskLink:
    """Return a link to a task."""
    return ManifestTaskLink(id=f"tsk_{number:026d}", ref=f"vc#{number}", title=f"Part {number}", status=status)


def make_task(number: int = 12, **fields: Any) -> ManifestTask:
    """Return a task with a value in each field."""
    values: dict[str, Any] = {
        "id": f"tsk_{number:026d}",
        "ref": f"vc#{number}",
        "title": f"Parse the header of version {number}",
        "description": "Headers of the new version have a length in front.\n\nKeep reading the old ones, too.",
        "status": TaskStatus.TODO,
        "ready": True,
        "priority": Priority.HIGH,
        "stage": "implement",
        "acceptance": ("Old and new headers are read", "A broken length is refused with its offset"),
        "gates": ("make test",),
        "depends_on": (make_link(3, status=TaskStatus.COMPLETED),),
        "documents": (
            ManifestDocument(id="doc_00000000000000000000000001", title="The format", file_name="format.md"),
        ),
    }
    return ManifestTask(**{**values, **fields})


def make_manifest(mode: SessionMode = SessionMode.EXECUTE, **fields: Any) -> Manifest:
    """Return the manifest of a worker, a planner or a coordinator of project vc."""
    is_coordinator = mode is SessionMode.COORDINATE
    values: dict[str, Any] = {
        "session": ManifestSession(
            id="ses_00000000000000000000000001",
            name="boss" if is_coordinator else "parser",
            mode=mode,
            strategy="default" if is_coordinator else "simple",
            template="coordinate-default" if is_coordinator else "execute-simple",
            address="dave/vc",
        ),
        "project": ManifestProject(
            id="prj_00000000000000000000000001",
            name="vc",
            key="github.com/steveyegge/vc",
            directory="/src/dave/vc",
        ),
        "human": "dana",
        "permission": Permission.EDIT if mode is SessionMode.EXECUTE else Permission.PLAN,
        "workspace": ManifestWorkspace(directory="/src/dave/vc", address="dave/vc", branch="main"),
        "members": (make_member(0),),
        "team": "backend",
        "roster": tuple(make_member(number) for number in range(3)),
        "tasks": (make_task(),),
        "commands": tuple(
            ManifestCommand(operation=name, command=words, summary=summary) for name, words, summary in _COMMANDS
        ),
        **(_coordinator_fields() if is_coordinator else _worker_fields()),
    }
    return Manifest(**{**values, **fields})


def make_large_manifest(mode: SessionMode, *, tasks: int, members: int, description: str) -> Manifest:
    """Return a manifest with a large team and many tasks; each has children and depends on the previous task."""
    return make_manifest(
        mode,
        tasks=tuple(
            make_task(
                number,
                description=description,
                depends_on=(make_link(number - 1),) if number else (),
                children=(make_link(1_000 + number), make_link(2_000 + number)),
            )
            for number in range(tasks)
        ),
        roster=tuple(make_member(number) for number in range(members)),
        siblings=tuple(
            SiblingSession(session_id=f"ses_{number:026d}", name=f"worker-{number}", mode=SessionMode.EXECUTE)
            for number in range(members)
        ),
    )


def _coordinator_fields() -> dict[str, Any]:
    """Return the fields that only a coordinator has."""
    parts = tuple(make_link(number) for number in (13, 14))
    return {
        "directive": ManifestDirective(
            subject="The new headers",
            text="All of it by Friday, please.",
            sender="dana",
            sender_kind=SenderKind.PERSON,
            message_id="msg_00000000000000000000000001",
        ),
        "tasks": (make_task(children=parts), make_task(13, parent="vc#12", gates=(), documents=())),
        "limits": ManifestLimits(workers_max=8, depth_left=2),
    }


def _worker_fields() -> dict[str, Any]:
    """Return the fields that only a worker of a coordinator has."""
    return {
        "coordinator": ManifestCoordinator(
            session_id="ses_00000000000000000000000002",
            name="boss",
            member_id="mem_00000000000000000000000001",
            member_name="grace",
            address="dave/vc",
        ),
        "directive": ManifestDirective(
            subject="Read both versions",
            text='Only the reader; the writer is linus\' part.\nDo not touch "lex.py".',
            sender="boss",
            sender_kind=SenderKind.SESSION,
        ),
        "workspace": ManifestWorkspace(
            directory="/src/worktrees/parser", address="parser/vc", branch="parser", base="main", worktree=True
        ),
        "siblings": (
            SiblingSession(
                session_id="ses_00000000000000000000000003",
                name="writer",
                mode=SessionMode.EXECUTE,
                status=SessionStatus.WORKING,
                member="linus",
                tasks=(make_link(14, status=TaskStatus.IN_PROGRESS),),
            ),
        ),
        "skills": (ManifestSkill(name="sql", summary="How queries are written here.", path="/src/skills/sql"),),
        "reference_tasks": (
            make_task(
                4,
                title="Write down the format",
                status=TaskStatus.COMPLETED,
                documents=(
                    ManifestDocument(
                        id="doc_00000000000000000000000002",
                        title="The decision",
                        file_name="decision.md",
                        bytes=61,
                        text="A length comes first, in four bytes, and then the old header.",
                    ),
                ),
            ),
        ),
    }
