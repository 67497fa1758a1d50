"""The demo: the person creates a task and starts the coordinator. Afterwards the person only answers asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_programs.person import MODELS
from scripted_model import ScriptedModel

from demo import parts
from demo.models import Part
from demo.proof import Facts, differences, gather
from demo.story import Story
from demo.world import Kettle

SECONDS_MAX = 120.0
WANTED = "A kettle that shows its temperature"
MESSAGE = "Plan it, start a worker for each part, and bring their work together on main."


def main() -> int:
    """Play the demo, and return the exit code: 0 if everything is as expected."""
    story = Story()
    story.head(
        "Three real agents. lead is Claude Code and coordinates; cody is Codex, gemma is Gemini CLI, and they work. What "
        "their models say is scripted, on loopback, by what stands in their requests: ◂ marks mail that was in one. "
        "log is what the server wrote down."
    )
    facts, left = play(story)
    wrong = [*differences(facts), *(f"{one} is left" for one in left)]
    for line in wrong:
        story.head(f"NOT SO: {line}")
    ended = "Not as it should be" if wrong else "Done"
    rest = "" if left else " Everything it made is gone again: no process, no folder."
    story.head(f"{ended}, after {story.seconds():.0f} s.{rest}")
    return 1 if wrong else 0


def play(story: Story) -> tuple[Facts, list[str]]:
    """Play the whole demo. Return the facts, and the processes and folders that are left, which should be none."""
    lines = {parts.LEAD: parts.LEADS, parts.CODY: parts.CODYS, parts.GEMMA: parts.GEMMAS}
    with ScriptedModel() as model:
        kettle = Kettle(model, {parts.TOOLS[name]: Part(name, lines[name], story) for name in lines})
        with kettle:
            with kettle.followed_events(seconds_max=SECONDS_MAX) as events:
                start(kettle, story)
                happened = Watching(kettle, story).watch(events)
            facts = gather(kettle, story, model, happened)
    return facts, kettle.left()


def start(kettle: Kettle, story: Story) -> None:
    story.say("you", f'$ maestro task create "{WANTED}"')
    whole = kettle.call_for_json("task", "create", WANTED)["ref"]
    words = ["session", "spawn", "--task", whole, "--name", parts.LEAD, "--tool", "claude", "--mode", "coordinate"]
    words += ["--model", MODELS["claude"], "--permission", "full", "--grant", "full"]
    story.say("you", f'$ maestro {" ".join(words)} --subject "The kettle" --message "{MESSAGE}"')
    kettle.run_maestro(*words, "--subject", "The kettle", "--message", MESSAGE)


class Watching:
    """Follows the log, shows events, and answers asks for the person."""

    def __init__(self, kettle: Kettle, story: Story) -> None:
        self._kettle = kettle
        self._story = story
        self._names: dict[str, str] = {}
        self._mail: dict[str, str] = {}  # subjects of mail between agents, by message id

    def watch(self, events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
        """Follow the events until all sessions have ended or the time is up, and return the events."""
        happened = []
        for event in events:
            happened.append(event)
            kind, data, subject = event["kind"], event["data"], event["subject"]
            if kind == "session.registered":
                self._names[subject] = data["name"]
            elif kind == "mail.sent" and data["type"] != "notification":
                self._mail[subject] = data["subject"]
            said = self._line(kind, data, subject)
            if said:
                self._story.say("log", said)
            if kind == "ask.opened":
                self._answer(subject)
            if kind == "session.ended":
                del self._names[subject]
                if not self._names:
                    break
        return happened

    def _line(self, kind: str, data: dict[str, Any], subject: str) -> str | None:
        match kind:
            case "session.registered":
                parent = self._names.get(data["parent"] or "", "you")
                return f"{data['name']} is started by {parent}, to {data['mode']}"
            case "mail.delivered" | "mail.read" if subject in self._mail:
                how = "delivered to" if kind == "mail.delivered" else "read by"
                return f"“{self._mail[subject]}” is {how} {self._names.get(data['mailbox'], '?')} (via {data['via']})"
            case "ask.opened":
                return f"{self._names[data['session']]} asks for a permission, and waits"
            case "gate.failed" | "gate.passed":
                how = "passes" if kind == "gate.passed" else f"fails (exit {data['code']}), and the task goes back"
                return f"gate of {data['ref']}: {data['command']} {how}"
            case "task.completed":
                return f"{data['ref']} is completed"
            case "session.ended":
                return f"{data['name']} has ended: {data['status']}"
        return None

    def _answer(self, ask: str) -> None:
        self._story.say("you", "$ maestro ask list")
        self._story.print(self._kettle.run_maestro("ask", "list"))
        self._story.say("you", f"$ maestro ask answer {ask} allow")
        self._kettle.run_maestro("ask", "answer", ask, "allow")
