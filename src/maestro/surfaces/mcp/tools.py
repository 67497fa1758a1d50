"""The MCP tools as data: the operations behind each tool, and the fields of the operations that the tool shows.

A tool groups related operations, because every tool costs a model tokens in every turn. Rare operations are available
only as commands. The operations decide who may call them: a tool offers only the uses that its caller may call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maestro.domain.callers import Caller, Role, may_call
from maestro.operations import (
    agents,
    asks,
    documents,
    issues,
    mail,
    members,
    primer,
    runs,
    sessions,
    spawning,
    tasks,
    teams,
    terminals,
    worktrees,
)
from maestro.operations.base import Effect, Operation

_QUICK_EFFECTS = frozenset({Effect.READ, Effect.SCAN, Effect.WRITE})


@dataclass(frozen=True, eq=False)
class Use:
    """One operation of a tool, which a call chooses by its action or by a given argument."""

    operation: Operation
    shows: tuple[str, ...] = ()  # the arguments of the use
    action: str = ""
    given: str = ""
    names: Mapping[str, str] = field(default_factory=dict)  # fields by argument, where the two names differ
    fixed: Mapping[str, Any] = field(default_factory=dict)
    is_wait: bool = False  # the operation only waits, so a client may repeat it
    waits_with: str = ""  # the argument that makes the operation wait
    is_quick: bool | None = None  # None: the operation's effect decides

    @property
    def quick(self) -> bool:
        return self.operation.effect in _QUICK_EFFECTS if self.is_quick is None else self.is_quick

    def field_of(self, argument: str) -> str:
        return self.names.get(argument, argument)


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool as a model sees it."""

    name: str
    description: str
    uses: tuple[Use, ...]
    says: Mapping[str, str] = field(
        default_factory=dict
    )  # descriptions of arguments; a self-explanatory argument has none
    lists: frozenset[str] = frozenset()  # arguments whose values stand in the schema
    leads: bool = False  # hidden from workers

    def uses_for(self, caller: Caller) -> tuple[Use, ...]:
        """Return the uses that a caller may call."""
        if self.leads and caller.role is Role.WORKER and not any(u.operation.name in caller.allow for u in self.uses):
            return ()
        return tuple(use for use in self.uses if may_call(caller, use.operation.name, use.operation.callers))


def _use_by_id(operation: Operation, action: str, *shows: str, **names: str) -> Use:
    return Use(operation, ("id", *shows), action=action, names=names)


_MESSAGE_ARGUMENTS = ("subject", "message", "type", "priority", "task", "attach")
_PAGE_ARGUMENTS = ("limit", "cursor")

WHOAMI = Tool(
    "whoami",
    "Who you are, who is around you, your tasks and mail, how to work here. Call it first, and after compaction.",
    (Use(primer.PRIMER, fixed={"tools": True}),),
)
INBOX = Tool(
    "inbox",
    "Read your unread mail, most urgent first.",
    (Use(mail.INBOX, ("all", "task", *_PAGE_ARGUMENTS), is_quick=True),),
    says={"all": "Include read mail.", "cursor": "From the last answer."},
)
WAIT = Tool(
    "wait",
    "Wait for mail, or for the given tasks, sessions or ask.",
    (
        Use(tasks.WAIT, ("tasks", "until", "timeout"), given="tasks", names={"tasks": "ids"}, is_wait=True),
        Use(
            sessions.WAIT, ("sessions", "until", "timeout"), given="sessions", names={"sessions": "ids"}, is_wait=True
        ),
        Use(asks.WAIT, ("ask", "timeout"), given="ask", names={"ask": "id"}, is_wait=True),
        Use(mail.WAIT, ("timeout", "count", "cursor"), is_wait=True),
    ),
    says={
        "timeout": "Seconds.",
        "until": "completed, ready (tasks), any-change, or a session status.",
        "count": "Number of messages.",
        "ask": "An ask's id.",
        "cursor": "From the last answer.",
    },
)
SEND = Tool(
    "send",
    "Send mail, or answer a message (reply_to).",
    (
        Use(
            mail.REPLY,
            ("reply_to", "message", "subject", "type", "priority", "attach"),
            given="reply_to",
            names={"reply_to": "id"},
        ),
        Use(mail.BROADCAST, ("scope", *_MESSAGE_ARGUMENTS), given="scope"),
        Use(mail.SEND, ("to", *_MESSAGE_ARGUMENTS)),
    ),
    says={
        "to": "Names: a session, project, @member, vc#12 (a task), coordinator, human.",
        "scope": "Instead of to: my-workers, siblings, team or all.",
        "reply_to": "A message's id.",
        "attach": "Text files.",
    },
    lists=frozenset({"type", "priority"}),
)
MAIL = Tool(
    "mail",
    "More about mail. status: its state for each recipient. claim: take a thread of the project's mailbox.",
    (
        _use_by_id(mail.SHOW, "show"),
        _use_by_id(mail.THREAD, "thread"),
        Use(mail.ACK, ("id",), action="ack", names={"id": "ids"}),
        _use_by_id(mail.CLAIM, "claim"),
        _use_by_id(mail.RELEASE, "release"),
        _use_by_id(mail.STATUS, "status"),
        Use(mail.SENT, _PAGE_ARGUMENTS, action="sent"),
        Use(mail.SEARCH, ("query", *_PAGE_ARGUMENTS), action="search", is_quick=True),
        _use_by_id(mail.ATTACHMENT, "attachment"),
    ),
    says={"id": "Of a message or attachment.", "query": "Words to search for."},
)
TASKS = Tool(
    "tasks",
    "Read tasks. ready: tasks that can start now. show: one task in full.",
    (
        Use(tasks.READY, ("parent", *_PAGE_ARGUMENTS), action="ready"),
        Use(tasks.LIST, ("status", "mine", *_PAGE_ARGUMENTS), action="list"),
        _use_by_id(tasks.SHOW, "show"),
        Use(tasks.TREE, ("id",), action="tree"),
        _use_by_id(tasks.CHILDREN, "children"),
        Use(tasks.BLOCKED, _PAGE_ARGUMENTS, action="blocked"),
        _use_by_id(mail.OF_TASK, "mail"),
        _use_by_id(documents.LIST, "documents"),
        _use_by_id(documents.SHOW, "document"),
        _use_by_id(documents.GATE, "gate"),
    ),
    says={"id": "Of a task (vc#12, #12), document or gate.", "mine": "Tasks you hold."},
)
TASK_CREATE = Tool(
    "task_create",
    "Create a task.",
    (
        Use(
            tasks.CREATE,
            (
                "title",
                "description",
                "parent",
                "depends_on",
                "found_in",
                "stage",
                "priority",
                "member",
                "accept",
                "gates",
            ),
        ),
    ),
    says={
        "depends_on": "Tasks it waits on.",
        "found_in": "The task during which you found it.",
        "accept": "Conditions that must hold.",
        "gates": "Commands that must pass.",
    },
    lists=frozenset({"priority"}),
)
TASK_UPDATE = Tool(
    "task_update",
    "Move or change a task. start claims it. text is the summary, reason or document. depend: wait on other tasks.",
    (
        _use_by_id(tasks.START, "start"),
        _use_by_id(tasks.COMPLETE, "complete", "text", text="summary"),
        _use_by_id(tasks.BLOCK, "block", "text", text="reason"),
        _use_by_id(tasks.UNBLOCK, "unblock"),
        _use_by_id(tasks.RELEASE, "release"),
        _use_by_id(tasks.FAIL, "fail", "text", text="reason"),
        _use_by_id(documents.ADD, "document", "title", "text", text="content"),
        _use_by_id(
            tasks.EDIT, "edit", "title", "description", "priority", "stage", "parent", "member", "accept", "gates"
        ),
        _use_by_id(tasks.DEPEND, "depend", "on", "remove"),
        _use_by_id(tasks.REJECT, "reject", "text", text="reason"),
        _use_by_id(tasks.CANCEL, "cancel", "text", text="reason"),
        _use_by_id(tasks.REOPEN, "reopen"),
        _use_by_id(tasks.REMOVE, "delete"),
    ),
)
ISSUES = Tool(
    "issues",
    "Issues between projects. open: ask another project (to). agents: who is online there.",
    (
        Use(issues.OPEN, ("to", "title", "message", "found_in", "blocks", "attach"), action="open"),
        Use(issues.LIST, ("opened", *_PAGE_ARGUMENTS), action="list"),
        _use_by_id(issues.SHOW, "show"),
        _use_by_id(issues.REPLY, "reply", "message", "attach"),
        _use_by_id(issues.CLAIM, "claim"),
        _use_by_id(issues.CLOSE, "close", "message"),
        _use_by_id(issues.REOPEN, "reopen"),
        Use(agents.LIST, ("to",), action="agents", names={"to": "project"}),
    ),
    says={
        "id": "beads#12.",
        "blocks": "Your tasks that wait on it.",
        "opened": "Issues you opened elsewhere.",
        "attach": "Text files.",
    },
)
REPORT = Tool(
    "report",
    "Report to your coordinator. A report moves the task you hold, or the named task.",
    (
        Use(tasks.REPORT, ("id", "kind", "text"), given="id"),
        Use(sessions.REPORT, ("kind", "text")),
    ),
    says={"id": "A task."},
    lists=frozenset({"kind"}),
)
ASK = Tool(
    "ask",
    "Ask the person a question; the answer comes as mail. wait: block until the answer.",
    (
        Use(asks.WITHDRAW, ("withdraw",), given="withdraw", names={"withdraw": "id"}),
        Use(asks.CREATE, ("title", "message", "kind", "choice", "task", "wait", "timeout"), waits_with="wait"),
    ),
    says={"choice": "Answers to choose from.", "withdraw": "Id of an ask to withdraw.", "timeout": "Seconds."},
    lists=frozenset({"kind"}),
)
SESSIONS = Tool(
    "sessions",
    "Read sessions and control your own. prompt: push text to a running agent now.",
    (
        Use(sessions.LIST, ("active", "siblings", "my_workers", "status", *_PAGE_ARGUMENTS), action="list"),
        _use_by_id(sessions.SHOW, "show"),
        _use_by_id(sessions.EXPLAIN, "explain"),
        Use(terminals.LOGS, ("id", "tail"), action="logs", fixed={"tail": 60}),
        _use_by_id(spawning.PROMPT, "prompt", "text"),
        _use_by_id(spawning.INTERRUPT, "interrupt"),
        _use_by_id(spawning.STOP, "stop"),
        _use_by_id(spawning.RESUME, "resume"),
        Use(sessions.ADOPT, ("id",), action="adopt", names={"id": "ids"}),
    ),
    says={"id": "Name or id.", "tail": "Lines."},
)
PEOPLE = Tool(
    "members",
    "Members and teams for sessions.",
    (
        Use(members.LIST, (), action="list"),
        _use_by_id(members.SHOW, "show"),
        Use(teams.LIST, (), action="teams"),
        _use_by_id(teams.SHOW, "team"),
    ),
)
SPAWN = Tool(
    "spawn",
    "Start an agent on tasks.",
    (
        Use(
            spawning.SPAWN,
            (
                "task",
                "subject",
                "message",
                "mode",
                "strategy",
                "member",
                "team",
                "tool",
                "model",
                "permission",
                "template",
                "reference",
                "skill",
                "worktree",
                "name",
                "dry_run",
                "words",
            ),
        ),
    ),
    says={
        "subject": "Its directive in one line.",
        "message": "The work to do.",
        "reference": "Tasks for background.",
        "worktree": "Its own checkout and branch.",
        "words": "Command to run as the agent.",
    },
    lists=frozenset({"mode", "permission"}),
    leads=True,
)
RUN = Tool(
    "run",
    "Complete a task and its subtasks with sessions.",
    (
        Use(
            runs.START,
            ("task", "strategy", "max_parallel", "attempts", "member", "tool", "worktree", "words"),
            action="start",
        ),
        _use_by_id(runs.SHOW, "show"),
        Use(runs.LIST, _PAGE_ARGUMENTS, action="list"),
        _use_by_id(runs.STOP, "stop"),
        _use_by_id(runs.RESUME, "resume"),
    ),
    says={"id": "A run's id."},
    lists=frozenset({"strategy"}),
    leads=True,
)
WORKTREES = Tool(
    "worktrees",
    "Checkouts of sessions: diff, merge, remove.",
    (
        Use(worktrees.LIST, _PAGE_ARGUMENTS, action="list"),
        _use_by_id(worktrees.DIFF, "diff"),
        _use_by_id(worktrees.MERGE, "merge", "into"),
        _use_by_id(worktrees.REMOVE, "remove", "keep_branch"),
    ),
    says={"id": "A session.", "into": "A branch."},
    leads=True,
)

ALL = (
    WHOAMI, INBOX, WAIT, SEND, MAIL, TASKS, TASK_CREATE, TASK_UPDATE, ISSUES, REPORT, ASK, SESSIONS, PEOPLE, SPAWN,
    RUN, WORKTREES,
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in ALL}
