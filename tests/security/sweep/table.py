"""The table of the sweep: the expected outcome of every operation on objects of the project `victim`.

A row is a request: the operation, its fields, and the expected outcomes for three callers: a worker of `victim` that
holds no task, the coordinator of the project `evil`, and the worker of `evil`. An empty outcome stands for the
outcome before it. The server does not know a session that has ended, nor a caller without a token.

The first word is the outcome: ok, still (ok, and the store did not change), refused, missing, conflict, invalid or
late. The other words are exactly the marked texts in the answer: texts of `victim`, or `friend.title` of another
project. `friend-issue:text,gate` stands for `friend-issue-text friend-issue-gate`. For callers of `evil` the table
does not list texts of `evil`. `friend-issue` and `evil-issue` are issues that those projects opened in `victim`.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """A request, and the expected outcomes for the three callers that the server knows."""

    operation: str
    fields: dict[str, Any]
    peer: str
    coordinator: str
    worker: str


def row(operation: str, fields: dict[str, Any], peer: str, coordinator: str = "", worker: str = "") -> Row:
    coordinator = coordinator or peer
    return Row(operation, fields, peer, coordinator, worker or coordinator)


# Objects of the project `victim` that the requests name.
TASK = {"id": "{victim.task}"}
ISSUE = {"id": "{victim.friend-issue}"}
OWN_ISSUE = {"id": "{victim.evil-issue}"}
HOLDER = {"id": "{victim.holder}"}
AGENT = {"id": "{victim.agent}"}
RUN = {"id": "{victim.run}"}
MESSAGE = {"id": "{victim.message}"}
THERE = {"project": "victim"}
FOLDER = {"path": "{victim.folder}"}
LINK = {"name": "far", "directory": "{victim.folder}"}
SENT_ISSUE = {"id": "{friend.victim-issue}"}
OF_TASK = {"task": "{victim.task}"}
OF_ISSUE = {"task": "{victim.friend-issue}"}
EVERY = {"all": True, "limit": 500}
REFERENCE = {"reference": ["{victim.friend-issue}"]}
OWN_REFERENCE = {"reference": ["{victim.evil-issue}"]}
DRY = {"tool": "claude", "dry_run": True}

# Marked texts that often occur together.
TEXTS = "accept description gate-command reason title"
WHOLE = "gate,paper-file,paper-title,reason,text,title"
PAPER = "paper-body,paper-file,paper-title"
OWN = f"gate,text,title,{PAPER}"
OPENED = "evil-issue:text,title friend-issue:text,title"
SENT = "friend.victim-issue:gate,reason,text,title"
TOLD = "session-report friend-issue:paper-title,reason,title"
STORY = f"{TOLD} friend-issue:paper-file"
ISSUES = "evil-issue:gate,reason,text,title friend-issue:gate,reason,text,title"
ISSUES_ABROAD = "evil-issue:gate,reason,text,title friend-issue:title"
TITLES = "title evil-issue:title friend-issue:title"
FRIENDS = "friend.title friend.victim-issue:title"
LOG = (
    "ask-title gate-output paper-title reason report role session-report subject title friend.victim-issue:title "
    "evil-issue:paper-title,reason,title friend-issue:paper-title,reason,title"
)
MAIL = (
    "attachment-name directive mail reason subject friend.victim-issue:comment,text,title "
    "evil-issue:comment,reason,text,title friend-issue:comment,reason,text,title"
)

TABLE = (
    row("task.create", {**THERE, "title": "New"}, "ok", "refused"),
    row("task.list", THERE, f"ok {TEXTS} gate-output {ISSUES}", f"ok title {ISSUES_ABROAD}"),
    row("task.ready", THERE, "ok description title", "ok title"),
    row("task.blocked", THERE, f"ok {TEXTS} {ISSUES}", f"ok title {ISSUES_ABROAD}"),
    row("task.tree", THERE, f"ok {TEXTS} gate-output {ISSUES}", f"ok title {ISSUES_ABROAD}"),
    row("task.tree", TASK, f"ok {TEXTS}", "ok title"),
    row("task.wait", {"ids": ["{victim.gated}"]}, "ok description gate-output title", "ok title"),
    row("task.wait", {"ids": ["{victim.task}"], "timeout": 1}, "late"),
    row("task.show", TASK, f"ok {TEXTS} paper-file paper-title report", "ok title"),
    row("task.show", ISSUE, f"ok friend-issue:{WHOLE}", "ok friend-issue:title"),
    row("task.show", OWN_ISSUE, f"ok evil-issue:{WHOLE}"),
    row("task.show", SENT_ISSUE, f"ok friend.victim-issue:{WHOLE}", "ok friend.victim-issue:title"),
    row("task.show", {"id": "{victim.gated}"}, "ok description gate-output title", "ok title"),
    row("task.children", TASK, "ok description title", "ok title"),
    row("task.edit", {**TASK, "title": "Changed"}, "conflict", "refused"),
    row("task.edit", {**OWN_ISSUE, "title": "Changed"}, "conflict", "refused"),
    row("task.start", TASK, "conflict", "refused"),
    row("task.release", TASK, "conflict", "refused"),
    row("task.complete", TASK, "conflict", "refused"),
    row("task.reject", TASK, "refused"),
    row("task.block", {**TASK, "reason": "x"}, "conflict", "refused"),
    row("task.unblock", TASK, "conflict", "refused"),
    row("task.fail", TASK, "conflict", "refused"),
    row("task.cancel", TASK, "refused"),
    row("task.cancel", OWN_ISSUE, "refused"),
    row("task.reopen", {"id": "{victim.gated}"}, "refused"),
    row("task.delete", TASK, "refused"),
    row("task.depend", {**TASK, "on": ["{victim.gated}"]}, "conflict", "refused"),
    row("task.report", {**TASK, "kind": "progress", "text": "x"}, "conflict", "refused"),
    row("task.docs.add", {**TASK, "title": "x", "content": "eA=="}, "conflict", "refused"),
    row("task.docs.list", TASK, "ok paper-file paper-title", "refused"),
    row("task.docs.list", ISSUE, "ok friend-issue:paper-file,paper-title", "refused"),
    row("task.docs.list", OWN_ISSUE, "ok evil-issue:paper-file,paper-title"),
    row("task.docs.show", {"id": "{victim.document}"}, "ok paper-body paper-file paper-title", "refused"),
    row("task.docs.show", {"id": "{victim.friend-issue-paper}"}, f"ok friend-issue:{PAPER}", "refused"),
    row("task.docs.show", {"id": "{victim.evil-issue-paper}"}, f"ok evil-issue:{PAPER}"),
    row("task.gate", {"id": "{victim.gate}"}, "ok gate-output", "refused"),
    row("task.gate", {"id": "{victim.gated}"}, "ok gate-output", "refused"),
    row("issue.open", {"to": "victim", "title": "New", "message": "x"}, "invalid", "ok"),
    row("issue.list", THERE, f"ok {ISSUES}", f"ok {ISSUES_ABROAD}"),
    row("issue.list", {**THERE, "opened": True}, f"ok {SENT}", "ok friend.victim-issue:title"),
    row("issue.show", ISSUE, f"ok friend-issue:comment,{WHOLE}", "ok friend-issue:title"),
    row("issue.show", OWN_ISSUE, f"ok evil-issue:comment,{WHOLE}"),
    row("issue.show", SENT_ISSUE, f"ok friend.victim-issue:comment,{WHOLE}", "ok friend.victim-issue:title"),
    row("issue.reply", {**ISSUE, "message": "x"}, "ok friend-issue:title", "refused"),
    row("issue.claim", ISSUE, "conflict", "refused"),
    row("issue.claim", OWN_ISSUE, "conflict", "refused"),
    row("issue.close", {**ISSUE, "message": "x"}, "conflict", "refused"),
    row("issue.close", {**OWN_ISSUE, "message": "x"}, "conflict", "refused"),
    row("issue.reopen", ISSUE, "refused"),
    row("project.init", FOLDER, "still"),
    row("project.locate", FOLDER, "still"),
    row("project.list", {}, "ok"),
    row("project.show", THERE, "ok"),
    row("project.edit", {**THERE, "stages": ["x"]}, "refused"),
    row("project.link", {**LINK, "remote": "https://github.com/a/b"}, "refused"),
    row("project.unlink", LINK, "refused"),
    row("tracker.status", THERE, "ok", "refused"),
    row("tracker.sync", THERE, "conflict", "refused"),
    row("member.create", {**THERE, "name": "bob", "role": "x"}, "refused"),
    row("member.list", THERE, "ok identity model role", "ok role"),
    row("member.show", {"id": "{victim.member}"}, "ok identity model role", "ok role"),
    row("member.edit", {"id": "{victim.member}", "role": "x"}, "refused"),
    row("member.archive", {"id": "{victim.member}"}, "refused"),
    row("team.create", {**THERE, "name": "band"}, "refused"),
    row("team.list", THERE, "ok"),
    row("team.show", {"id": "{victim.team}"}, "ok model role", "ok role"),
    row("team.add", {"id": "{victim.team}", "members": ["{victim.member}"]}, "refused"),
    row("team.remove", {"id": "{victim.team}", "members": ["{victim.member}"]}, "refused"),
    row("session.register", THERE, "ok", "refused"),
    row("session.register", {"task": ["{victim.task}"]}, "ok", "refused"),
    row("session.heartbeat", {}, "ok"),
    row("session.end", HOLDER, "refused"),
    row("session.list", THERE, "ok evil-issue:title friend-issue:title title", "ok"),
    row("session.list", {"all_projects": True}, "refused"),
    row("session.show", HOLDER, "ok ask-text ask-title", "ok"),
    row("session.show", AGENT, "ok"),
    row("session.explain", HOLDER, "ok ask-title", "ok"),
    row("session.wait", {"ids": ["{victim.ended}"]}, "ok"),
    row("session.report", {"kind": "progress", "text": "x"}, "ok"),
    row("session.adopt", {"ids": ["{victim.holder}"]}, "refused", "conflict", "refused"),
    row("session.grant", {**HOLDER, "grant": "full"}, "refused"),
    row("session.rename", {**HOLDER, "name": "x"}, "refused"),
    row("file.check", {"path": "{victim.folder}/README"}, "refused", "still", "refused"),  # coordinator: grant full
    row("caller.whoami", {}, "ok"),
    row("session.primer", {}, "ok friend-issue:title title", "ok"),
    row("agent.list", THERE, f"ok {TITLES}"),
    row("agent.list", {"everywhere": True}, f"ok {TITLES} {FRIENDS} evil.title", f"ok {TITLES} {FRIENDS}"),
    row("session.spawn", {**DRY, **THERE}, "refused"),
    row("session.spawn", {**DRY, "mode": "coordinate", "task": ["{victim.task}"]}, "refused"),
    row("session.spawn", {**DRY, "reference": ["{victim.task}"]}, "refused", "still title", "refused"),
    row("session.spawn", {**DRY, **REFERENCE}, "refused", "still friend-issue:title", "refused"),
    row("session.spawn", {**DRY, **OWN_REFERENCE}, "refused", f"still evil-issue:{OWN}", "refused"),
    row("session.prompt", {**HOLDER, "text": "x"}, "refused"),
    row("session.interrupt", HOLDER, "refused"),
    row("session.stop", HOLDER, "refused"),
    row("session.resume", AGENT, "refused"),
    row("manifest.show", AGENT, "ok directive identity model role", "refused"),
    row("prompt.show", AGENT, "ok directive role", "refused"),
    row("template.list", FOLDER, "ok summary", "refused"),
    row("template.show", {**FOLDER, "name": "house"}, "ok summary template", "refused"),
    row("runner.report", {"report": '{"kind": "exited", "code": 0}'}, "invalid"),
    row("tool.list", {}, "ok"),
    row("hook.list", {}, "ok"),
    row("session.logs", AGENT, "ok transcript", "refused"),
    row("session.attach", AGENT, "refused"),
    row("run.start", {"task": "{victim.child}", "tool": "claude"}, "refused"),
    row("run.list", THERE, "ok run-words title", "refused"),
    row("run.show", RUN, "ok run-words title", "missing"),
    row("run.show", {"id": "{victim.waiting}"}, "ok run-words title", "missing"),
    row("run.stop", RUN, "refused", "missing", "refused"),
    row("run.resume", RUN, "refused", "missing", "refused"),
    row("worktree.list", THERE, "ok", "refused"),
    row("worktree.diff", AGENT, "ok worktree", "refused"),
    row("worktree.merge", {**AGENT, "into": "main"}, "refused"),
    row("worktree.remove", AGENT, "refused"),
    row("worktree.remove", {**THERE, "merged": True}, "refused"),
    row("timeline.show", OF_TASK, "ok paper-title reason report subject title", "ok title"),
    row("timeline.show", OF_ISSUE, f"ok {TOLD}", "ok friend-issue:title"),
    row("timeline.show", {"session": "{victim.boss}"}, "ok session-report", "ok"),
    row("timeline.show", {"run": "{victim.run}"}, "ok title", "missing"),
    row("timeline.export", OF_TASK, "ok paper-file paper-title reason report subject title", "ok title"),
    row("timeline.export", OF_ISSUE, f"ok {STORY}", "ok friend-issue:title"),
    row("timeline.export", {"session": "{victim.agent}"}, "ok"),
    row("timeline.export", {"run": "{victim.run}"}, "ok title", "missing"),
    row("mail.send", {"to": ["{victim.peer}"], "subject": "x", "message": "x"}, "ok"),
    row("mail.send", {"to": ["human"], "subject": "x", "message": "x", "task": "{victim.task}"}, "ok"),
    row("mail.post", {**THERE, "subject": "x", "message": "x"}, "ok"),
    row("mail.broadcast", {**THERE, "subject": "x", "message": "x", "scope": "all"}, "refused"),
    row("mail.inbox", EVERY, f"ok {OPENED}", "ok evil-issue:comment,title", "ok"),
    row("mail.inbox", {"of": "{victim.holder}", "all": True}, "refused"),
    row("mail.wait", {"task": "{victim.task}", "peek": True, "timeout": 1}, "late"),
    row("mail.show", MESSAGE, "ok attachment-name mail subject", "missing"),
    row("mail.show", {"id": "{victim.friend-issue-message}"}, "ok friend-issue:reason", "missing"),
    row("mail.thread", MESSAGE, "ok attachment-name mail subject", "missing"),
    row("mail.thread", {"id": "{victim.friend-issue-message}"}, "ok friend-issue:reason", "missing"),
    row("mail.claim", MESSAGE, "refused", "missing"),
    row("mail.release", MESSAGE, "conflict", "missing"),
    row("mail.reply", {**MESSAGE, "message": "x"}, "ok subject", "missing"),
    row("mail.ack", {"ids": ["{victim.message}"]}, "missing"),
    row("mail.status", MESSAGE, "ok subject", "missing"),
    row("mail.sent", {}, "ok subject friend-issue:title", "ok evil-issue:title", "ok"),
    row("mail.search", {**THERE, "query": "SECRET"}, f"ok {MAIL}", "refused"),
    row("mail.search", {"everywhere": True, "query": "SECRET"}, "refused"),
    row("mail.attachment", {"id": "{victim.attachment}"}, "ok attachment attachment-name", "missing"),
    row("mail.project_inbox", {**THERE, "all": True}, f"ok {OPENED}", "refused"),
    row("mail.of_task", TASK, "ok attachment-name mail reason subject", "ok"),
    row("mail.of_task", ISSUE, "ok friend-issue:comment,reason,text,title", "ok"),
    row("mail.confirm", {"receipt": "r1:s1"}, "still"),
    row("ask.list", {**THERE, "all": True}, "ok ask-text ask-title", "refused"),
    row("ask.show", {"id": "{victim.ask}"}, "ok ask-text ask-title", "missing"),
    row("ask.answer", {"id": "{victim.ask}", "answer": "x"}, "refused"),
    row("ask.create", {"title": "x", "task": "{victim.task}"}, "ok"),
    row("ask.wait", {"id": "{victim.ask}", "timeout": 1}, "late", "missing"),
    row("ask.withdraw", {"id": "{victim.ask}"}, "refused", "missing"),
    row("notify.test", {}, "refused"),
    row("notify.list", {}, "refused"),
    row("server.status", {}, "ok"),
    row("server.stop", {}, "refused"),
    row("server.recovery", {}, "refused"),
    row("server.backup", {}, "refused"),
    row("events.list", {**THERE, "limit": 500}, f"ok {LOG}", "refused"),
    row("events.list", {"everywhere": True, "limit": 500}, f"ok {LOG}", "ok evil-issue:title"),
    row("config.get", {}, "refused", "ok", "refused"),
    row("config.set", {"name": "events_days", "value": "33"}, "refused"),
)
