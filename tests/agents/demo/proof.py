"""The facts after the demo, from git, from the server, and from the requests to the models."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from scripted_model import ScriptedModel

from demo import parts
from demo.models import letters
from demo.story import Story
from demo.world import Kettle

_MERGED = re.compile(r"^Merge .* \((\w+)\)$", re.MULTILINE)
LETTERS = (parts.SPACE, parts.QUESTION, parts.ANSWER)


@dataclass(frozen=True)
class Facts:
    """The result of the demo."""

    shown: str  # the output on main of the two programs that the workers wrote
    commits: list[str]  # the commits on main, in alphabetical order
    merges: list[str]  # the workers whose work was merged into main, in order
    sessions: dict[str, str]
    tasks: dict[str, str]
    gates: dict[str, list[int]]  # exit codes of each gate, in order
    asks: list[tuple[str, str, str]]  # session, title and answer of each ask
    receipts: dict[str, str]  # the status of each message between agents
    in_request: dict[str, list[str]]  # the agents that got each message in a request during a turn
    still_running: list[int]  # the programs that still run after the end of all sessions


AS_IT_SHOULD_BE = Facts(
    shown="96.6 °C",
    commits=[
        "Read the sensor",
        "Round, and do not cut",
        "Show degrees with their unit",
        "The kettle, without its parts",
    ],
    merges=[parts.CODY, parts.GEMMA],
    sessions=dict.fromkeys(parts.TOOLS, "completed"),
    tasks={"kettle#1": "completed", "kettle#2": "completed", "kettle#3": "completed"},
    gates={"sh test/sensor.sh": [1, 0], "sh test/display.sh": [0]},
    asks=[(parts.GEMMA, "shell: sh test/display.sh", "allow")],
    receipts={parts.SPACE: "read", parts.QUESTION: "acknowledged", parts.ANSWER: "read"},
    in_request={parts.SPACE: [parts.CODY], parts.QUESTION: [parts.LEAD], parts.ANSWER: [parts.CODY]},
    still_running=[],
)


def differences(facts: Facts) -> list[str]:
    """Return the facts that differ from the expected facts."""
    return [
        f"{one.name} is {getattr(facts, one.name)!r}, not {wanted!r}"
        for one in fields(Facts)
        if getattr(facts, one.name) != (wanted := getattr(AS_IT_SHOULD_BE, one.name))
    ]


def gather(kettle: Kettle, story: Story, model: ScriptedModel, happened: Sequence[dict[str, Any]]) -> Facts:
    """Collect the facts, and show most of them. `happened` is the log."""
    story.title("What is on main now, and what it does")
    story.command("git log --graph --oneline", kettle.run_git("log", "--graph", "--oneline", "--no-decorate"))
    typed = 'sh display.sh "$(sh sensor.sh 96560)"'
    shown = subprocess.run(["sh", "-c", typed], cwd=kettle.repository, capture_output=True, text=True, check=False)
    story.command(typed, shown.stdout + shown.stderr)
    story.title("What the server kept")
    for words in (("session", "list"), ("task", "tree"), ("worktree", "list"), ("timeline", "--task", "kettle#2")):
        story.command(f"maestro {' '.join(words)}", kettle.run_maestro(*words))
    ids = {one["data"]["subject"]: one["subject"] for one in happened if one["kind"] == "mail.sent"}
    for subject in LETTERS:
        if subject in ids:
            story.command(f"maestro mail status {ids[subject]}", kettle.run_maestro("mail", "status", ids[subject]))
    return Facts(
        shown=shown.stdout.strip(),
        commits=sorted(kettle.run_git("log", "--no-merges", "--format=%s").splitlines()),
        merges=_MERGED.findall(kettle.run_git("log", "--merges", "--reverse", "--format=%s")),
        sessions={one["name"]: one["status"] for one in kettle.call_for_json("session", "list")["sessions"]},
        tasks={one["ref"]: one["status"] for one in kettle.call_for_json("task", "list")["tasks"]},
        gates=_gates(happened),
        asks=[
            (one["asked_by"], one["title"], one["answer"])
            for one in kettle.call_for_json("ask", "list", "--all")["asks"]
        ],
        receipts={subject: _receipt(kettle, ids[subject]) for subject in LETTERS if subject in ids},
        in_request={subject: _requests(model, subject) for subject in LETTERS},
        still_running=kettle.programs(),
    )


def _gates(happened: Sequence[dict[str, Any]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in happened:
        if one["kind"].startswith("gate."):
            found.setdefault(one["data"]["command"], []).append(one["data"]["code"])
    return found


def _receipt(kettle: Kettle, message: str) -> str:
    (delivery,) = kettle.call_for_json("mail", "status", message)["deliveries"]
    return str(delivery["status"])


def _requests(model: ScriptedModel, subject: str) -> list[str]:
    """Return the agents whose model got the message in a request that continues a turn."""
    return [
        name
        for name, tool in parts.TOOLS.items()
        for seen in model.seen(tool)
        if seen.turn and any(one.subject == subject for one in letters(seen.newest))
    ]
