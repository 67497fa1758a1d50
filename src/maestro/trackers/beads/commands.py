"""The words of each `bd` command. Pure. Only flags that every generation has; texts never look like flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maestro.domain.tasks import Priority
from maestro.trackers.base import NewIssue

PROGRAM = "bd"
LABEL = "maestro"
_PRIORITIES = {Priority.CRITICAL: 0, Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 3}
# What would have bd look at another project, speak for someone else, or answer in another form.
_FOREIGN = ("BEADS_", "BD_", "MAESTRO_")


def environment(outer: Mapping[str, str], *, folder: str, actor: str) -> dict[str, str]:
    """Of one call: this project's database, in this name. Every generation reads one of the names of each."""
    kept = {name: value for name, value in outer.items() if not name.startswith(_FOREIGN)}
    names = {"BEADS_ACTOR": actor, "BD_ACTOR": actor} if actor else {}
    return kept | {"BEADS_DIR": folder, "BD_JSON_ENVELOPE": "1", "NO_COLOR": "1"} | names


def version() -> list[str]:
    return ["version"]


def issues() -> list[str]:
    return ["list", "--json", "--limit", "0"]


def closed_issues() -> list[str]:
    """In newer generations `bd list` tells only what is open."""
    return [*issues(), "--status", "closed"]


def look(refs: Sequence[str]) -> list[str]:
    return ["show", *refs, "--json"]


def comments(ref: str) -> list[str]:
    return ["comments", ref, "--json"]


def create(new: NewIssue) -> list[str]:
    words = ["create", "--json", "-t", "task", "-p", str(_PRIORITIES[new.priority]), "-l", LABEL]
    return [*words, "--external-ref", new.outside_ref, "-d", new.description, "--", new.title]


def comment(ref: str, text: str, *, actor: str) -> list[str]:
    return ["comments", "add", ref, "--json", "-a", actor, "--", text]


def claim(ref: str) -> list[str]:
    return ["update", ref, "--claim", "--json"]


def release(ref: str) -> list[str]:
    return ["update", ref, "--status", "open", "--assignee", "", "--json"]


def block(ref: str) -> list[str]:
    return ["update", ref, "--status", "blocked", "--json"]


def close(ref: str, *, reason: str) -> list[str]:
    return ["close", ref, "--reason", reason, "--json"]


def reopen(ref: str) -> list[str]:
    return ["reopen", ref, "--json"]


def rename(ref: str, title: str) -> list[str]:
    return ["update", ref, "--title", title, "--json"]


def agent_environment(name: str) -> dict[str, str]:
    """Of an agent in a project with Beads: `bd mail` is `maestro mail`, and bd knows it by the name it has here."""
    return {"BEADS_MAIL_DELEGATE": "maestro mail", "BEADS_ACTOR": name, "BD_ACTOR": name}
