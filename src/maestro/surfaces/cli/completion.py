"""Compute the possible next words of a command line from the grammar. `shells` writes the scripts for each shell."""

from __future__ import annotations

from dataclasses import dataclass

from maestro.surfaces.cli.grammar import COMMON_FLAGS, PROJECT, CommandNode, CommandSpec, Flag, FlagEffect, Grammar
from maestro.surfaces.cli.parameters import Parameter, ValueKind

# Kinds of values that the shell or the server completes; they are not candidates themselves.
FILES = "file"
ASKED = ("task", "project", "member", "team")


@dataclass(frozen=True)
class Candidate:
    """A possible next word, with a description."""

    word: str
    description: str = ""


@dataclass(frozen=True)
class ValueSlot:
    """A possible next value: one of `words`, or a value of `kind`."""

    words: tuple[str, ...] = ()
    kind: str = ""


def visible_nodes(grammar: Grammar) -> list[CommandNode]:
    """Return every visible node of the command tree."""
    nodes, waiting = [], [grammar.root]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend(node.children[word] for word in reversed(_visible_words(node)))
    return nodes


def next_words_at(node: CommandNode) -> list[Candidate]:
    """Return the words that may follow at a node."""
    return [Candidate(word, _node_description(node.children[word])) for word in _visible_words(node)]


def flags_at(node: CommandNode) -> list[Candidate]:
    """Return the flags of the command at a node, and the flags of every command."""
    own_flags = [Candidate(f"--{name}", _short_description(flag)) for name, flag in _flags_of(node).items()]
    return [*own_flags, *(Candidate(f"--{name}", description) for name, (_, description) in COMMON_FLAGS.items())]


def values_at(node: CommandNode) -> dict[str, ValueSlot]:
    """Return the value of each flag at a node. Flags without a value are left out."""
    slots = {
        f"--{flag.name}": value_slot(flag.parameter, flag) for flag in _flags_of(node).values() if flag.takes_value
    }
    return {**slots, "--project": ValueSlot(kind=PROJECT), "--idempotency-key": ValueSlot()}


def argument_at(node: CommandNode) -> ValueSlot:
    """Return the values of the command's arguments: all choices, and the first kind that the server can complete."""
    slots = [value_slot(parameter) for parameter in node.spec.positionals] if node.spec else []
    words = tuple(word for each in slots for word in each.words)
    kinds = [each.kind for each in slots if each.kind]
    return ValueSlot(words, kinds[0] if kinds else "")


def value_slot(parameter: Parameter, flag: Flag | None = None) -> ValueSlot:
    if flag is not None and flag.effect is FlagEffect.FILE:
        return ValueSlot(kind=FILES)
    if parameter.choices:
        return ValueSlot(words=parameter.choices)
    if parameter.kind in (ValueKind.FILE, ValueKind.PATH):
        return ValueSlot(kind=FILES)
    return ValueSlot(kind=parameter.complete if parameter.complete in ASKED else "")


def complete_words(grammar: Grammar, words: list[str]) -> tuple[list[Candidate], str]:
    """Return candidates for the last, unfinished word, and a kind of value to ask the server for."""
    *before, unfinished = words or [""]
    node, values = grammar.root, values_at(grammar.root)
    for word in before:
        if not word.startswith("-"):
            node = node.children.get(word, node)
            values = values_at(node)
    if before and (slot_of_flag := values.get(before[-1])):
        return _candidates_with_prefix(
            [Candidate(word) for word in slot_of_flag.words], unfinished
        ), slot_of_flag.kind
    if unfinished.startswith("-"):
        return _candidates_with_prefix(flags_at(node), unfinished), ""
    argument = argument_at(node)
    offered = [*next_words_at(node), *(Candidate(word) for word in argument.words)]
    return _candidates_with_prefix(offered, unfinished), argument.kind


def _candidates_with_prefix(candidates: list[Candidate], prefix: str) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.word.startswith(prefix)]


def _visible_words(node: CommandNode) -> list[str]:
    return [word for word, below in node.children.items() if below.spec is None or not below.spec.hidden]


def _flags_of(node: CommandNode) -> dict[str, Flag]:
    return dict(node.spec.flags) if node.spec else {}


def _node_description(node: CommandNode) -> str:
    spec: CommandSpec | None = node.spec
    return spec.summary if spec else f"{', '.join(_visible_words(node)[:4])} …"


def _short_description(flag: Flag) -> str:
    """Return the first sentence of the flag's description."""
    if flag.effect is FlagEffect.FILE:
        return "from a file"
    return flag.parameter.description.partition(". ")[0].removesuffix(".")
