"""Suggest the word that a person may have meant. Suggestions are shown, never applied."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

nearest_max = 3
_LIKENESS_MIN = 0.6

# Words from other programs, and the words of Maestro with a similar meaning.
_SYNONYMS: dict[str, tuple[str, ...]] = {
    # commands
    "ls": ("list",),
    "new": ("create", "add", "register"),
    "create": ("open", "register", "spawn"),
    "read": ("inbox", "show"),
    "show": ("list",),
    "add": ("create",),
    "open": ("create", "reopen"),
    "make": ("create",),
    "rm": ("delete", "remove"),
    "remove": ("delete",),
    "del": ("delete",),
    "get": ("show",),
    "view": ("show",),
    "info": ("show", "status"),
    "cat": ("show",),
    "update": ("edit", "report"),
    "set": ("edit",),
    "rename": ("edit",),
    "begin": ("start",),
    "take": ("claim", "start"),
    "done": ("complete",),
    "finish": ("complete",),
    "close": ("complete",),
    "abort": ("cancel",),
    "next": ("ready",),
    "log": ("report", "events"),
    "progress": ("report",),
    "start": ("up",),
    "stop": ("down", "end"),
    "me": ("whoami",),
    "dep": ("depend",),
    # flags
    "body": ("description", "message", "reason", "summary"),
    "message": ("description", "reason", "summary"),
    "note": ("description", "reason", "summary"),
    "text": ("description", "summary", "reason"),
    "details": ("description",),
    "deps": ("depends-on", "on"),
    "after": ("depends-on", "on"),
    "needs": ("depends-on", "on"),
    "blocked-by": ("depends-on", "on"),
    "prio": ("priority",),
    "why": ("reason",),
    "state": ("status",),
    "assignee": ("member",),
    "criteria": ("accept",),
    "acceptance": ("accept",),
    "check": ("gate",),
    "test": ("gate",),
    "wait": ("timeout",),
    "ttl": ("lease",),
    "watch": ("follow",),
    "tail": ("follow",),
    "max": ("limit",),
    "count": ("limit",),
    "key": ("idempotency-key",),
    # values
    "complete": ("completed",),
    "finished": ("completed",),
    "doing": ("in_progress", "working"),
    "wip": ("in_progress",),
    "review": ("in_review",),
    "pending": ("todo",),
    "urgent": ("critical",),
    "medium": ("normal",),
    "p0": ("critical",),
    "p1": ("high",),
    "p2": ("normal",),
    "p3": ("low",),
    "canceled": ("cancelled",),
}


_NEVER_SUGGESTED = frozenset({"restore"})  # replaces all data: a person who follows a suggestion must lose nothing


def nearest_choices(word: str, choices: Iterable[str]) -> list[str]:
    """Return the choices that `word` may stand for, likeliest first; empty without a near choice."""
    unique_choices = [choice for choice in dict.fromkeys(choices) if choice not in _NEVER_SUGGESTED]
    simple = _normal_form(word)
    by_form = {_normal_form(choice): choice for choice in unique_choices}
    if simple in by_form:
        return [by_form[simple]]
    synonyms = [choice for choice in _SYNONYMS.get(simple, ()) if choice in unique_choices]
    prefixed = [choice for choice in unique_choices if simple and _normal_form(choice).startswith(simple)]
    alike = difflib.get_close_matches(simple, by_form, n=nearest_max, cutoff=_LIKENESS_MIN)
    found = dict.fromkeys([*synonyms, *prefixed, *(by_form[form] for form in alike)])
    return list(found)[:nearest_max]


def did_you_mean(suggestions: list[str], *, dashes: str = "") -> str:
    """Return the question that follows an error; empty without suggestions."""
    if not suggestions:
        return ""
    return "; did you mean " + " or ".join(f"`{dashes}{choice}`" for choice in suggestions) + "?"


def _normal_form(word: str) -> str:
    return word.lower().replace("_", "-").strip("-")
