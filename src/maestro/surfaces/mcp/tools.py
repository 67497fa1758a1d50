"""What tools there are, as data: which operations each stands for, and which of their fields it shows.

A tool groups what belongs together, because every tool costs its readers tokens in every turn. What is rare is left
to the command. Who may call what is said by the operations alone: a tool offers whatever of it the caller may.
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

_QUICK = frozenset({Effect.READ, Effect.SCAN, Effect.WRITE})


@dataclass(frozen=True, eq=False)
class Use:
    """One operation as a tool offers it: by an action, by an argument that is given, or because there is no other."""

    operation: Operation
    shows: tuple[str, ...] = ()  # its arguments
    action: str = ""
    given: str = ""
    names: Mapping[str, str] = field(default_factory=dict)  # arguments that are not called like their fields
    fixed: Mapping[str, Any] = field(default_factory=dict)
    is_wait: bool = False  # it does nothing but wait, so that it can be asked again
    waits_with: str = ""  # the argument that makes it wait
    is_quick: bool | None = None  # else its effect says it

    @property
    def quick(self) -> bool:
        return self.operation.effect in _QUICK if self.is_quick is None else self.is_quick

    def field_of(self, argument: str) -> str:
        return self.names.get(argument, argument)


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool as a model sees it."""

    name: str
    description: str
    uses: tuple[Use, ...]
    says: Mapping[str, str] = field(default_factory=dict)  # of arguments; those that speak for themselves have none
    lists: frozenset[str] = frozenset()  # arguments whose values are listed
    leads: bool = False  # for those who lead others

    def uses_for(self, caller: Caller) -> tuple[Use, ...]:
        """What of it a caller may call."""
        if self.leads and caller.role is Role.WORKER and not any(u.operation.name in caller.allow for u in self.uses):
            return ()
        return tuple(use for use in self.uses if may_call(caller, use.operation.name, use.operation.callers))


def _task(operation: Operation, action: str, *shows: str, **names: str) -> Use:
    return Use(operation, ("id", *shows), action=action, names=names)


_LETTER = ("subject", "message", "type", "priority", "task", "attach")
_PAGE = ("limit", "cursor")

WHOAMI = Tool(
    "whoami",
    "Who you are, who is around you, your tasks and mail, how to work here. Call it first, and after compaction.",
    (Use(primer.PRIMER, fixed={"tools": True}),),
)
INBOX = Tool(
    "inbox",
    "Read your unread mail, most urgent first.",
    (Use(mail.INBOX, ("all", "task", *_PAGE), is_quick=True),),
    says={"all": "Also read mail.", "cursor": "Of the last answer."},
)
WAIT = Tool(
    "wait",
    "Block until mail comes. Or, if given, until tasks, sessions or an ask are so far.",
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
        "count": "So many messages.",
        "ask": "Its id.",
        "cursor": "Of the last answer.",
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
        Use(mail.BROADCAST, ("scope", *_LETTER), given="scope"),
        Use(mail.SEND, ("to", *_LETTER)),
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
    "More about mail. status: how far it came with each recipient. claim: take a conversation of the project's box.",
    (
        _task(mail.SHOW, "show"),
        _task(mail.THREAD, "thread"),
        Use(mail.ACK, ("id",), action="ack", names={"id": "ids"}),
        _task(mail.CLAIM, "claim"),
        _task(mail.RELEASE, "release"),
        _task(mail.STATUS, "status"),
        Use(mail.SENT, _PAGE, action="sent"),
        Use(mail.SEARCH, ("query", *_PAGE), action="search", is_quick=True),
        _task(mail.ATTACHMENT, "attachment"),
    ),
    says={"id": "Of a message or attachment.", "query": "Words."},
)
TASKS = Tool(
    "tasks",
    "Look at tasks. ready: what can be started now. show: one whole.",
    (
        Use(tasks.READY, ("parent", *_PAGE), action="ready"),
        Use(tasks.LIST, ("status", "mine", *_PAGE), action="list"),
        _task(tasks.SHOW, "show"),
        Use(tasks.TREE, ("id",), action="tree"),
        _task(tasks.CHILDREN, "children"),
        Use(tasks.BLOCKED, _PAGE, action="blocked"),
        _task(mail.OF_TASK, "mail"),
        _task(documents.LIST, "documents"),
        _task(documents.SHOW, "document"),
        _task(documents.GATE, "gate"),
    ),
    says={"id": "Of a task (vc#12, #12), document or gate.", "mine": "Those you hold."},
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
        "accept": "What must hold.",
        "gates": "Commands that must pass.",
    },
    lists=frozenset({"priority"}),
)
TASK_UPDATE = Tool(
    "task_update",
    "Move or change a task. start claims it. text is the summary, reason or document. depend: let it wait on others.",
    (
        _task(tasks.START, "start"),
        _task(tasks.COMPLETE, "complete", "text", text="summary"),
        _task(tasks.BLOCK, "block", "text", text="reason"),
        _task(tasks.UNBLOCK, "unblock"),
        _task(tasks.RELEASE, "release"),
        _task(tasks.FAIL, "fail", "text", text="reason"),
        _task(documents.ADD, "document", "title", "text", text="content"),
        _task(tasks.EDIT, "edit", "title", "description", "priority", "stage", "parent", "member", "accept", "gates"),
        _task(tasks.DEPEND, "depend", "on", "remove"),
        _task(tasks.REJECT, "reject", "text", text="reason"),
        _task(tasks.CANCEL, "cancel", "text", text="reason"),
        _task(tasks.REOPEN, "reopen"),
        _task(tasks.REMOVE, "delete"),
    ),
)
ISSUES = Tool(
    "issues",
    "What projects ask of each other. open: ask another project (to). agents: who is online there.",
    (
        Use(issues.OPEN, ("to", "title", "message", "found_in", "blocks", "attach"), action="open"),
        Use(issues.LIST, ("opened", *_PAGE), action="list"),
        _task(issues.SHOW, "show"),
        _task(issues.REPLY, "reply", "message", "attach"),
        _task(issues.CLAIM, "claim"),
        _task(issues.CLOSE, "close", "message"),
        _task(issues.REOPEN, "reopen"),
        Use(agents.LIST, ("to",), action="agents", names={"to": "project"}),
    ),
    says={
        "id": "beads#12.",
        "blocks": "Your tasks that wait on it.",
        "opened": "Those you opened elsewhere.",
        "attach": "Text files.",
    },
)
REPORT = Tool(
    "report",
    "Tell your coordinator how it goes; it moves the task you hold, or the one named.",
    (
        Use(tasks.REPORT, ("id", "kind", "text"), given="id"),
        Use(sessions.REPORT, ("kind", "text")),
    ),
    says={"id": "A task."},
    lists=frozenset({"kind"}),
)
ASK = Tool(
    "ask",
    "Ask the person something; the answer comes as mail. wait: block for it.",
    (
        Use(asks.WITHDRAW, ("withdraw",), given="withdraw", names={"withdraw": "id"}),
        Use(asks.CREATE, ("title", "message", "kind", "choice", "task", "wait", "timeout"), waits_with="wait"),
    ),
    says={"choice": "Answers to choose from.", "withdraw": "The id of an ask to take back.", "timeout": "Seconds."},
    lists=frozenset({"kind"}),
)
SESSIONS = Tool(
    "sessions",
    "Look at agents and act on your own. prompt tells a running agent something now.",
    (
        Use(sessions.LIST, ("active", "siblings", "my_workers", "status", *_PAGE), action="list"),
        _task(sessions.SHOW, "show"),
        _task(sessions.EXPLAIN, "explain"),
        Use(terminals.LOGS, ("id", "tail"), action="logs", fixed={"tail": 60}),
        _task(spawning.PROMPT, "prompt", "text"),
        _task(spawning.INTERRUPT, "interrupt"),
        _task(spawning.STOP, "stop"),
        _task(spawning.RESUME, "resume"),
        Use(sessions.ADOPT, ("id",), action="adopt", names={"id": "ids"}),
    ),
    says={"id": "Name or id.", "tail": "Lines."},
)
PEOPLE = Tool(
    "members",
    "Members and teams that sessions take on.",
    (
        Use(members.LIST, (), action="list"),
        _task(members.SHOW, "show"),
        Use(teams.LIST, (), action="teams"),
        _task(teams.SHOW, "team"),
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
        "subject": "Its directive on one line.",
        "message": "What it is to do.",
        "reference": "Tasks for background.",
        "worktree": "A checkout and branch of its own.",
        "words": "A program as the agent.",
    },
    lists=frozenset({"mode", "permission"}),
    leads=True,
)
RUN = Tool(
    "run",
    "Work off a task and all below it with sessions.",
    (
        Use(
            runs.START,
            ("task", "strategy", "max_parallel", "attempts", "member", "tool", "worktree", "words"),
            action="start",
        ),
        _task(runs.SHOW, "show"),
        Use(runs.LIST, _PAGE, action="list"),
        _task(runs.STOP, "stop"),
        _task(runs.RESUME, "resume"),
    ),
    says={"id": "A run's id."},
    lists=frozenset({"strategy"}),
    leads=True,
)
WORKTREES = Tool(
    "worktrees",
    "Checkouts of sessions: what changed, merging, removing.",
    (
        Use(worktrees.LIST, _PAGE, action="list"),
        _task(worktrees.DIFF, "diff"),
        _task(worktrees.MERGE, "merge", "into"),
        _task(worktrees.REMOVE, "remove", "keep_branch"),
    ),
    says={"id": "A session.", "into": "A branch."},
    leads=True,
)

ALL = (
    WHOAMI, INBOX, WAIT, SEND, MAIL, TASKS, TASK_CREATE, TASK_UPDATE, ISSUES, REPORT, ASK, SESSIONS, PEOPLE, SPAWN,
    RUN, WORKTREES,
)  # fmt: skip
BY_NAME = {tool.name: tool for tool in ALL}
