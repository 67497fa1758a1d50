"""What can come next on a command line, from the grammar; `shells` writes it down for each shell."""

from __future__ import annotations

from dataclasses import dataclass

from maestro.surfaces.cli.grammar import EVERYWHERE, PROJECT, Flag, Gives, Grammar, Node, Spec
from maestro.surfaces.cli.parameters import Kind, Parameter

# What the shell, or the server, fills in: names of kinds, not candidates.
FILES = "file"
ASKED = ("task", "project", "member", "team")


@dataclass(frozen=True)
class Candidate:
    """A word that can come next."""

    word: str
    said: str = ""


@dataclass(frozen=True)
class Slot:
    """A value that can come next: one of these words, or something of this kind."""

    words: tuple[str, ...] = ()
    kind: str = ""


def places(grammar: Grammar) -> list[Node]:
    """Every place in the tree of words that someone may stand at."""
    found, waiting = [], [grammar.root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children[word] for word in reversed(_offered(node)))
    return found


def words_after(node: Node) -> list[Candidate]:
    """The next words of a command."""
    return [Candidate(word, _said(node.children[word])) for word in _offered(node)]


def flags_at(node: Node) -> list[Candidate]:
    """The flags of the command here, and those of every command."""
    own = [Candidate(f"--{name}", _short(flag)) for name, flag in _flags(node).items()]
    return [*own, *(Candidate(f"--{name}", said) for name, (_, said) in EVERYWHERE.items())]


def values_at(node: Node) -> dict[str, Slot]:
    """What each flag here takes; flags without a value are left out."""
    found = {f"--{flag.name}": slot(flag.parameter, flag) for flag in _flags(node).values() if flag.takes_value}
    return {**found, "--project": Slot(kind=PROJECT), "--idempotency-key": Slot()}


def argument_at(node: Node) -> Slot:
    """What the command's arguments take: the choices of the first, or the first kind that can be asked for."""
    slots = [slot(parameter) for parameter in node.spec.positionals] if node.spec else []
    words = tuple(word for one in slots for word in one.words)
    kinds = [one.kind for one in slots if one.kind]
    return Slot(words, kinds[0] if kinds else "")


def slot(parameter: Parameter, flag: Flag | None = None) -> Slot:
    if flag is not None and flag.gives is Gives.FILE:
        return Slot(kind=FILES)
    if parameter.choices:
        return Slot(words=parameter.choices)
    if parameter.kind in (Kind.FILE, Kind.PATH):
        return Slot(kind=FILES)
    return Slot(kind=parameter.complete if parameter.complete in ASKED else "")


def next_words(grammar: Grammar, words: list[str]) -> tuple[list[Candidate], str]:
    """What can stand in place of the last, unfinished word: candidates, and a kind to ask the server for."""
    *before, unfinished = words or [""]
    node, values = grammar.root, values_at(grammar.root)
    for word in before:
        if not word.startswith("-"):
            node = node.children.get(word, node)
            values = values_at(node)
    if before and (wanted := values.get(before[-1])):
        return _starting([Candidate(word) for word in wanted.words], unfinished), wanted.kind
    if unfinished.startswith("-"):
        return _starting(flags_at(node), unfinished), ""
    argument = argument_at(node)
    offered = [*words_after(node), *(Candidate(word) for word in argument.words)]
    return _starting(offered, unfinished), argument.kind


def _starting(candidates: list[Candidate], beginning: str) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.word.startswith(beginning)]


def _offered(node: Node) -> list[str]:
    return [word for word, below in node.children.items() if below.spec is None or not below.spec.hidden]


def _flags(node: Node) -> dict[str, Flag]:
    return dict(node.spec.flags) if node.spec else {}


def _said(node: Node) -> str:
    spec: Spec | None = node.spec
    return spec.summary if spec else f"{', '.join(_offered(node)[:4])} …"


def _short(flag: Flag) -> str:
    """The first sentence is enough beside a flag."""
    if flag.gives is Gives.FILE:
        return "from a file"
    return flag.parameter.description.partition(". ")[0].removesuffix(".")
