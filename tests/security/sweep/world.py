"""A live server with three projects full of marked secrets, and the callers that search for the secrets.

Every private text of a project carries a marker such as `SECRET-victim-description-7f3a`. Texts that every project
may see, for example the title of a task, carry a marker too, so that the table can name the answers that show them.
"""

from __future__ import annotations

import base64
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from maestro.testing.live import LiveServer

PROJECTS = ("victim", "friend", "evil")
SECONDS_MAX = 30.0
TEMPLATE = """---
name: house
mode: execute
strategy: house
summary: {summary}
phases: work
---

{text}

## work

Do it.
"""
_MARKER = re.compile(r"SECRET-([a-z]+)-([a-z-]+)-7f3a")
_BASE64 = re.compile(r'"((?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2,3}={1,2})?)\\?"')


def marker(project: str, what: str) -> str:
    """Return the text that marks a secret of a project."""
    return f"SECRET-{project}-{what}-7f3a"


def find_markers(text: str) -> set[str]:
    """Return the marked secrets in a text, also those inside base64, as `project.what`."""
    found = _MARKER.findall(text)
    for piece in _BASE64.findall(text):
        found += _MARKER.findall(base64.b64decode(piece).decode("latin-1"))
    return {f"{project}.{what}" for project, what in found}


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    """Start a server with its own home below `folder`, fill the server, and yield the world."""
    settings = folder / "gitconfig"
    settings.write_text("[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n")
    environment = {"HOME": str(folder), "GIT_CONFIG_GLOBAL": str(settings), "GIT_CONFIG_NOSYSTEM": "1"}
    with LiveServer(folder / "live", environment) as live:
        world = World(live, folder)
        yield world
        world.http.close()


class World:
    """A server with three filled projects. `refs` names every object that a request of the table can target."""

    def __init__(self, live: LiveServer, folder: Path) -> None:
        self.live = live
        self.folder = folder
        self.http = httpx.Client(base_url=live.url, timeout=SECONDS_MAX)
        self.tokens: dict[str, str] = {}
        self.refs: dict[str, str] = {}
        for project in PROJECTS:
            _Furnishing(self, project).furnish()
        self._open_issues()
        self._answer_as_peer()
        self.tokens |= {
            "peer": self.tokens["victim.peer"],
            "coordinator": self.tokens["evil.boss"],
            "worker": self.tokens["evil.peer"],
            "ended": self.tokens["victim.ended"],
            "nobody": "",
        }

    def call(self, token: str, verb: str, path: str, /, **fields: Any) -> Any:
        """Call a route and return the answer. Fail the test if the answer is an error."""
        headers = {"Authorization": f"Bearer {token}"}
        if verb == "GET":
            answer = self.http.request(verb, path, params=fields, headers=headers)
        else:
            answer = self.http.request(verb, path, json=fields, headers=headers)
        assert answer.status_code == 200, f"{verb} {path}: {answer.text}"
        return answer.json()

    def person(self, verb: str, path: str, /, **fields: Any) -> Any:
        return self.call(self.live.token, verb, path, **fields)

    def wait_until(self, look: Callable[[], Any], what: str) -> Any:
        """Return the result of `look` as soon as the result is true. Fail after the deadline."""
        ends = time.monotonic() + SECONDS_MAX
        while not (found := look()):
            assert time.monotonic() < ends, f"{what} did not happen in time"
            time.sleep(0.02)
        return found

    def _open_issues(self) -> None:
        """Open issues between the projects: the victim receives two issues, and opens one in the project `friend`."""
        for opener, receiver in (("friend", "victim"), ("evil", "victim"), ("victim", "friend")):
            name = f"{opener}-issue"
            token = self.tokens[f"{opener}.boss"]
            opened = self.call(
                token,
                "POST",
                "/api/issues",
                to=receiver,
                title=marker(receiver, f"{name}-title"),
                message=marker(receiver, f"{name}-text"),
            )
            boss = self.tokens[f"{receiver}.boss"]
            issue = f"/api/issues/{opened['id']}"
            self.call(boss, "POST", f"{issue}/reply", message=marker(receiver, f"{name}-comment"))
            task = f"/api/tasks/{opened['id']}"
            self.call(boss, "PATCH", task, gates=[f"true {marker(receiver, f'{name}-gate')}"])
            document = self._add_document(boss, opened["id"], receiver, f"{name}-paper")
            self.call(boss, "POST", f"{issue}/claim")
            self.call(boss, "POST", f"{task}/block", reason=marker(receiver, f"{name}-reason"))
            self.refs |= {f"{receiver}.{name}": opened["id"], f"{receiver}.{name}-paper": document}
            self.refs[f"{receiver}.{name}-message"] = self.call(boss, "GET", f"{task}/mail")["messages"][0]["id"]

    def _answer_as_peer(self) -> None:
        """Let the peer reply before the sweep, so that its list of sent mail does not change during the sweep."""
        peer = self.tokens["victim.peer"]
        self.call(peer, "POST", f"/api/issues/{self.refs['victim.friend-issue']}/reply", message="x")
        self.call(peer, "POST", f"/api/mail/{self.refs['victim.message']}/reply", message="x")

    def _add_document(self, token: str, task: str, project: str, what: str) -> str:
        content = base64.b64encode(marker(project, f"{what}-body").encode()).decode()
        fields = {
            "title": marker(project, f"{what}-title"),
            "file_name": marker(project, f"{what}-file"),
            "content": content,
        }
        made: str = self.call(token, "POST", f"/api/tasks/{task}/documents", **fields)["id"]
        return made


class _Furnishing:
    """Fills a project with an object of each kind."""

    def __init__(self, world: World, project: str) -> None:
        self.world = world
        self.project = project
        self.folder = world.folder / "src" / project

    def mark(self, what: str) -> str:
        return marker(self.project, what)

    def keep(self, name: str, value: str) -> None:
        self.world.refs[f"{self.project}.{name}"] = value

    def call(self, who: str, verb: str, path: str, /, **fields: Any) -> Any:
        return self.world.call(self.world.tokens[f"{self.project}.{who}"], verb, path, **fields)

    def furnish(self) -> None:
        self._make_checkout()
        self._add_members()
        for name, mode in (("boss", "coordinate"), ("holder", "execute"), ("peer", "execute"), ("ended", "execute")):
            self._register(name, mode)
        self.call("ended", "POST", "/api/sessions/end")
        self._add_tasks()
        self._work_on_task()
        self._run_gate()
        self._talk()
        self._spawn_agent()
        self._start_run()

    def _make_checkout(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "README").write_text("hello\n")
        templates = self.folder / ".maestro" / "templates"
        templates.mkdir(parents=True)
        (templates / "house.md").write_text(TEMPLATE.format(summary=self.mark("summary"), text=self.mark("template")))
        for words in (
            ["init", "-q"],
            ["remote", "add", "origin", f"git@github.com:acme/{self.project}.git"],
            ["add", "-A"],
            ["commit", "-qm", "first"],
        ):
            subprocess.run(["git", "-C", str(self.folder), *words], check=True, env=self.world.live.environment())
        self.world.person("POST", "/api/projects", path=str(self.folder))
        self.keep("folder", str(self.folder))

    def _add_members(self) -> None:
        fields = {"identity": self.mark("identity"), "model": self.mark("model"), "role": self.mark("role")}
        made = self.world.person("POST", "/api/members", project=self.project, name="ada", **fields)
        self.keep("member", made["id"])
        team = self.world.person("POST", "/api/teams", project=self.project, name="crew", members=["ada"])
        self.keep("team", team["id"])

    def _register(self, name: str, mode: str) -> None:
        fields = {"project": self.project, "name": name, "mode": mode}
        if mode == "coordinate":
            fields["grant"] = "full"  # the coordinator starts plain programs
        made = self.world.person("POST", "/api/sessions", **fields)
        self.world.tokens[f"{self.project}.{name}"] = made["token"]
        self.keep(name, made["id"])

    def _add_task(self, name: str, **fields: Any) -> str:
        fields = {"title": self.mark("title"), "description": self.mark("description")} | fields
        made: str = self.call("boss", "POST", "/api/tasks", **fields)["id"]
        self.keep(name, made)
        return made

    def _add_tasks(self) -> None:
        task = self._add_task("task", accept=[self.mark("accept")], gates=[f"true {self.mark('gate-command')}"])
        self._add_task("child", parent=task)
        self._add_task("waiting", depends_on=[task])
        self._add_task("gated", gates=[f"echo {self.mark('gate-output')}"])

    def _work_on_task(self) -> None:
        task = self.world.refs[f"{self.project}.task"]
        self.call("holder", "POST", f"/api/tasks/{task}/start")
        self.call("holder", "POST", f"/api/tasks/{task}/reports", kind="progress", text=self.mark("report"))
        self.keep("document", self.world._add_document(self._token("holder"), task, self.project, "paper"))
        self.call("holder", "POST", f"/api/tasks/{task}/block", reason=self.mark("reason"))

    def _token(self, who: str) -> str:
        return self.world.tokens[f"{self.project}.{who}"]

    def _run_gate(self) -> None:
        gated = self.world.refs[f"{self.project}.gated"]
        self.call("holder", "POST", f"/api/tasks/{gated}/start")
        self.call("holder", "POST", f"/api/tasks/{gated}/complete")

        def look() -> Any:
            return self.world.person("GET", f"/api/tasks/{gated}")["evidence"]

        self.keep("gate", self.world.wait_until(look, "the gate")[0]["id"])

    def _talk(self) -> None:
        task = self.world.refs[f"{self.project}.task"]
        file = {"file_name": self.mark("attachment-name"), "content": _encode(self.mark("attachment"))}
        letter = {"subject": self.mark("subject"), "message": self.mark("mail"), "task": task, "attach": [file]}
        sent = self.call("holder", "POST", "/api/mail", to=["human"], **letter)
        self.keep("message", sent["id"])
        whole = self.world.person("GET", f"/api/mail/{sent['id']}")
        self.keep("attachment", whole["attachments"][0]["id"])
        self.call("boss", "POST", "/api/mail", to=["holder"], subject=self.mark("subject"), message=self.mark("mail"))
        asked = self.call("holder", "POST", "/api/asks", title=self.mark("ask-title"), message=self.mark("ask-text"))
        self.keep("ask", asked["id"])
        self.call("boss", "POST", "/api/sessions/report", kind="progress", text=self.mark("session-report"))

    def _spawn_agent(self) -> None:
        """Run a program that leaves an uncommitted file in its worktree, and wait for the program's end."""
        shell = f"echo {self.mark('transcript')}; echo {self.mark('worktree')} > note.txt"
        made = self.world.person(
            "POST",
            "/api/sessions/spawn",
            project=self.project,
            path=str(self.folder),
            name="painter",
            worktree=True,
            message=self.mark("directive"),
            arguments=["sh", "-c", shell],
        )
        self.keep("agent", made["id"])
        agent = f"/api/sessions/{made['id']}"
        self.world.wait_until(lambda: self.world.person("GET", agent)["ended_at"], "the end of the agent")

    def _start_run(self) -> None:
        """Start a run that waits for a blocked task, so that the run never starts a program."""
        started = self.world.person(
            "POST",
            "/api/runs",
            project=self.project,
            path=str(self.folder),
            task=self.world.refs[f"{self.project}.waiting"],
            arguments=["true", self.mark("run-words")],
            detach=True,
        )
        self.keep("run", started["id"])


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
