"""The arguments of each `bd` command. Pure. Uses only flags of every generation; texts never look like flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from maestro.trackers.base import NewIssue
from maestro.trackers.beads.priorities import priority_number

PROGRAM = "bd"
LABEL = "maestro"
# Variables that would let bd use another project's database, another actor, or another output format.
_FOREIGN_PREFIXES = ("BEADS_", "BD_", "MAESTRO_")


def call_environment(outer: Mapping[str, str], *, folder: str, actor: str) -> dict[str, str]:
    """Return the environment of one call: this project's database, and the actor.

    Each generation of `bd` reads one of the two variables for the actor.
    """
    kept = {name: value for name, value in outer.items() if not name.startswith(_FOREIGN_PREFIXES)}
    actor_variables = {"BEADS_ACTOR": actor, "BD_ACTOR": actor} if actor else {}
    return kept | {"BEADS_DIR": folder, "BD_JSON_ENVELOPE": "1", "NO_COLOR": "1"} | actor_variables


def version_command() -> list[str]:
    return ["version"]


def list_command() -> list[str]:
    return ["list", "--json", "--limit", "0"]


def list_closed_command() -> list[str]:
    """List closed issues: in newer generations plain `bd list` lists only open issues."""
    return [*list_command(), "--status", "closed"]


def show_command(refs: Sequence[str]) -> list[str]:
    return ["show", *refs, "--json"]


def comments_command(ref: str) -> list[str]:
    return ["comments", ref, "--json"]


def create_command(new: NewIssue) -> list[str]:
    command = ["create", "--json", "-t", "task", "-p", str(priority_number(new.priority)), "-l", LABEL]
    return [*command, "--external-ref", new.outside_ref, "-d", new.description, "--", new.title]


def add_comment_command(ref: str, text: str, *, actor: str) -> list[str]:
    return ["comments", "add", ref, "--json", "-a", actor, "--", text]


def claim_command(ref: str) -> list[str]:
    return ["update", ref, "--claim", "--json"]


def release_command(ref: str) -> list[str]:
    return ["update", ref, "--status", "open", "--assignee", "", "--json"]


def block_command(ref: str) -> list[str]:
    return ["update", ref, "--status", "blocked", "--json"]


def close_command(ref: str, *, reason: str) -> list[str]:
    return ["close", ref, "--reason", reason, "--json"]


def reopen_command(ref: str) -> list[str]:
    return ["reopen", ref, "--json"]


def rename_command(ref: str, title: str) -> list[str]:
    return ["update", ref, "--title", title, "--json"]


def agent_environment(name: str) -> dict[str, str]:
    """Return variables for an agent: `bd mail` runs `maestro mail`, and bd uses the agent's name in Maestro."""
    return {"BEADS_MAIL_DELEGATE": "maestro mail", "BEADS_ACTOR": name, "BD_ACTOR": name}
