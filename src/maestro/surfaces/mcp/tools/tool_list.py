"""The MCP tools as data: the operations behind each tool, and the fields of the operations that the tool shows.

A tool groups related operations, because every tool costs a model tokens in every turn. Rare operations are available
only as commands. The operations decide who may call them: a tool offers only the uses that its caller may call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maestro.domain.callers import Caller, Role, may_call
from maestro.domain.messages import BroadcastScope
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
from maestro.text.choices import join_choices

_QUICK_EFFECTS = frozenset({Effect.READ, Effect.SCAN, Effect.WRITE})


@dataclass(frozen=True, eq=False)
class ToolUse:
    """One operation of a tool, which a call chooses by its action or by a given argument."""

    operation: Operation
    arguments: tuple[str, ...] = ()  # the arguments of the use
    action: str = ""
    chosen_by: str = ""
    field_names: Mapping[str, str] = field(default_factory=dict)  # fields by argument, where the two names differ
    fixed_values: Mapping[str, Any] = field(default_factory=dict)
    is_wait: bool = False  # the operation only waits, so a client may repeat it
    wait_argument: str = ""  # the argument that makes the operation wait
    quick_override: bool | None = None  # None: the operation's effect decides

    @property
    def is_answered_at_once(self) -> bool:
        return self.operation.effect in _QUICK_EFFECTS if self.quick_override is None else self.quick_override

    def field_of(self, argument: str) -> str:
        return self.field_names.get(argument, argument)


@dataclass(frozen=True, eq=False)
class McpTool:
    """A tool as a model sees it."""

    name: str
    description: str
    uses: tuple[ToolUse, ...]
    # Descriptions of arguments. A self-explanatory argument has none.
    argument_texts: Mapping[str, str] = field(default_factory=dict)
    enum_arguments: frozenset[str] = frozenset()  # arguments whose values stand in the schema
    is_hidden_from_workers: bool = False  # hidden from workers

    def uses_for(self, caller: Caller) -> tuple[ToolUse, ...]:
        """Return the uses that a caller may call."""
        if (
            self.is_hidden_from_workers
            and caller.role is Role.WORKER
            and not any(u.operation.name in caller.allow for u in self.uses)
        ):
            return ()
        return tuple(use for use in self.uses if may_call(caller, use.operation.name, use.operation.callers))


def _use_by_id(operation: Operation, action: str, *shows: str, **names: str) -> ToolUse:
    return ToolUse(operation, ("id", *shows), action=action, field_names=names)


_MESSAGE_ARGUMENTS = ("subject", "message", "type", "priority", "task", "attach")
_PAGE_ARGUMENTS = ("limit", "cursor")

WHOAMI = McpTool(
    "whoami",
    "Who you are, who is around you, your tasks and mail, how to work here. Call it first, and after compaction.",
    (ToolUse(primer.PRIMER, fixed_values={"tools": True}),),
)
INBOX = McpTool(
    "inbox",
    "Read your unread mail, most urgent first.",
    (ToolUse(mail.INBOX, ("all", "task", *_PAGE_ARGUMENTS), quick_override=True),),
    argument_texts={"all": "Include read mail.", "cursor": "From the last answer."},
)
WAIT = McpTool(
    "wait",
    "Wait for mail, or for the given tasks, sessions or ask.",
    (
        ToolUse(
            tasks.WAIT, ("tasks", "until", "timeout"), chosen_by="tasks", field_names={"tasks": "ids"}, is_wait=True
        ),
        ToolUse(
            sessions.WAIT,
            ("sessions", "until", "timeout"),
            chosen_by="sessions",
            field_names={"sessions": "ids"},
            is_wait=True,
        ),
        ToolUse(asks.WAIT, ("ask", "timeout"), chosen_by="ask", field_names={"ask": "id"}, is_wait=True),
        ToolUse(mail.WAIT, ("timeout", "count", "cursor"), is_wait=True),
    ),
    argument_texts={
        "timeout": "Seconds.",
        "until": "completed, ready (tasks), any-change, or a session status.",
        "count": "Number of messages.",
        "ask": "An ask's id.",
        "cursor": "From the last answer.",
    },
)
SEND = McpTool(
    "send",
    "Send mail, or answer a message (reply_to).",
    (
        ToolUse(
            mail.REPLY,
            ("reply_to", "message", "subject", "type", "priority", "attach"),
            chosen_by="reply_to",
            field_names={"reply_to": "id"},
        ),
        ToolUse(mail.BROADCAST, ("scope", *_MESSAGE_ARGUMENTS), chosen_by="scope"),
        ToolUse(mail.SEND, ("to", *_MESSAGE_ARGUMENTS)),
    ),
    argument_texts={
        "to": "Names: a session, project, @member, vc#12 (a task), coordinator, human.",
        "scope": f"Instead of to: {join_choices(BroadcastScope)}.",
        "reply_to": "A message's id.",
        "attach": "Text files.",
    },
    enum_arguments=frozenset({"type", "priority"}),
)
MAIL = McpTool(
    "mail",
    "More about mail. status: its state for each recipient. claim: take a thread of the project's mailbox.",
    (
        _use_by_id(mail.SHOW, "show"),
        _use_by_id(mail.THREAD, "thread"),
        ToolUse(mail.ACK, ("id",), action="ack", field_names={"id": "ids"}),
        _use_by_id(mail.CLAIM, "claim"),
        _use_by_id(mail.RELEASE, "release"),
        _use_by_id(mail.STATUS, "status"),
        ToolUse(mail.SENT, _PAGE_ARGUMENTS, action="sent"),
        ToolUse(mail.SEARCH, ("query", *_PAGE_ARGUMENTS), action="search", quick_override=True),
        _use_by_id(mail.ATTACHMENT, "attachment"),
    ),
    argument_texts={"id": "Of a message or attachment.", "query": "Words to search for."},
)
TASKS = McpTool(
    "tasks",
    "Read tasks. ready: tasks that can start now. show: one task in full.",
    (
        ToolUse(tasks.READY, ("parent", *_PAGE_ARGUMENTS), action="ready"),
        ToolUse(tasks.LIST, ("status", "mine", *_PAGE_ARGUMENTS), action="list"),
        _use_by_id(tasks.SHOW, "show"),
        ToolUse(tasks.TREE, ("id",), action="tree"),
        _use_by_id(tasks.CHILDREN, "children"),
        ToolUse(tasks.BLOCKED, _PAGE_ARGUMENTS, action="blocked"),
        _use_by_id(mail.OF_TASK, "mail"),
        _use_by_id(documents.LIST, "documents"),
        _use_by_id(documents.SHOW, "document"),
        _use_by_id(documents.GATE, "gate"),
    ),
    argument_texts={"id": "Of a task (vc#12, #12), document or gate.", "mine": "Tasks you hold."},
)
TASK_CREATE = McpTool(
    "task_create",
    "Create a task.",
    (
        ToolUse(
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
    argument_texts={
        "depends_on": "Tasks it waits on.",
        "found_in": "The task during which you found it.",
        "accept": "Conditions that must hold.",
        "gates": "Commands that must pass.",
    },
    enum_arguments=frozenset({"priority"}),
)
TASK_UPDATE = McpTool(
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
ISSUES = McpTool(
    "issues",
    "Issues between projects. open: ask another project (to). agents: who is online there.",
    (
        ToolUse(issues.OPEN, ("to", "title", "message", "found_in", "blocks", "attach"), action="open"),
        ToolUse(issues.LIST, ("opened", *_PAGE_ARGUMENTS), action="list"),
        _use_by_id(issues.SHOW, "show"),
        _use_by_id(issues.REPLY, "reply", "message", "attach"),
        _use_by_id(issues.CLAIM, "claim"),
        _use_by_id(issues.CLOSE, "close", "message"),
        _use_by_id(issues.REOPEN, "reopen"),
        ToolUse(agents.LIST, ("to",), action="agents", field_names={"to": "project"}),
    ),
    argument_texts={
        "id": "beads#12.",
        "blocks": "Your tasks that wait on it.",
        "opened": "Issues you opened elsewhere.",
        "attach": "Text files.",
    },
)
REPORT = McpTool(
    "report",
    "Report to your coordinator. A report moves the task you hold, or the named task.",
    (
        ToolUse(tasks.REPORT, ("id", "kind", "text"), chosen_by="id"),
        ToolUse(sessions.REPORT, ("kind", "text")),
    ),
    argument_texts={"id": "A task."},
    enum_arguments=frozenset({"kind"}),
)
ASK = McpTool(
    "ask",
    "Ask the person a question; the answer comes as mail. wait: block until the answer.",
    (
        ToolUse(asks.WITHDRAW, ("withdraw",), chosen_by="withdraw", field_names={"withdraw": "id"}),
        ToolUse(asks.CREATE, ("title", "message", "kind", "choice", "task", "wait", "timeout"), wait_argument="wait"),
    ),
    argument_texts={
        "choice": "Answers to choose from.",
        "withdraw": "Id of an ask to withdraw.",
        "timeout": "Seconds.",
    },
    enum_arguments=frozenset({"kind"}),
)
SESSIONS = McpTool(
    "sessions",
    "Read sessions and control your own. prompt: push text to a running agent now.",
    (
        ToolUse(sessions.LIST, ("active", "siblings", "my_workers", "status", *_PAGE_ARGUMENTS), action="list"),
        _use_by_id(sessions.SHOW, "show"),
        _use_by_id(sessions.EXPLAIN, "explain"),
        ToolUse(terminals.LOGS, ("id", "tail"), action="logs", fixed_values={"tail": 60}),
        _use_by_id(spawning.PROMPT, "prompt", "text"),
        _use_by_id(spawning.INTERRUPT, "interrupt"),
        _use_by_id(spawning.STOP, "stop"),
        _use_by_id(spawning.RESUME, "resume"),
        ToolUse(sessions.ADOPT, ("id",), action="adopt", field_names={"id": "ids"}),
    ),
    argument_texts={"id": "Name or id.", "tail": "Lines."},
)
MEMBERS = McpTool(
    "members",
    "Members and teams for sessions.",
    (
        ToolUse(members.LIST, (), action="list"),
        _use_by_id(members.SHOW, "show"),
        ToolUse(teams.LIST, (), action="teams"),
        _use_by_id(teams.SHOW, "team"),
    ),
)
SPAWN = McpTool(
    "spawn",
    "Start an agent on tasks.",
    (
        ToolUse(
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
                "arguments",
            ),
        ),
    ),
    argument_texts={
        "subject": "Its directive in one line.",
        "message": "The work to do.",
        "reference": "Tasks for background.",
        "worktree": "Its own checkout and branch.",
        "arguments": "Command to run as the agent.",
    },
    enum_arguments=frozenset({"mode", "permission"}),
    is_hidden_from_workers=True,
)
RUN = McpTool(
    "run",
    "Complete a task and its subtasks with sessions.",
    (
        ToolUse(
            runs.START,
            ("task", "strategy", "max_parallel", "attempts", "member", "tool", "worktree", "arguments"),
            action="start",
        ),
        _use_by_id(runs.SHOW, "show"),
        ToolUse(runs.LIST, _PAGE_ARGUMENTS, action="list"),
        _use_by_id(runs.STOP, "stop"),
        _use_by_id(runs.RESUME, "resume"),
    ),
    argument_texts={"id": "A run's id."},
    enum_arguments=frozenset({"strategy"}),
    is_hidden_from_workers=True,
)
WORKTREES = McpTool(
    "worktrees",
    "Checkouts of sessions: diff, merge, remove.",
    (
        ToolUse(worktrees.LIST, _PAGE_ARGUMENTS, action="list"),
        _use_by_id(worktrees.DIFF, "diff"),
        _use_by_id(worktrees.MERGE, "merge", "into"),
        _use_by_id(worktrees.REMOVE, "remove", "keep_branch"),
    ),
    argument_texts={"id": "A session.", "into": "A branch."},
    is_hidden_from_workers=True,
)

ALL_TOOLS = (
    WHOAMI, INBOX, WAIT, SEND, MAIL, TASKS, TASK_CREATE, TASK_UPDATE, ISSUES, REPORT, ASK, SESSIONS, MEMBERS, SPAWN,
    RUN, WORKTREES,
)  # fmt: skip
TOOLS_BY_NAME = {tool.name: tool for tool in ALL_TOOLS}
