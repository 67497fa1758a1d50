"""Completion offers the possible next words of a command line: commands, flags and values."""

from __future__ import annotations

import pytest

from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli.completion import (
    ASKED,
    FILES,
    ValueSlot,
    argument_at,
    complete_words,
    flags_at,
    next_words_at,
    values_at,
    visible_nodes,
)
from maestro.surfaces.cli.grammar import COMMON_FLAGS, CommandNode, Grammar

GRAMMAR = Grammar(REGISTRY)


def node_of(words: str) -> CommandNode:
    node, rest = GRAMMAR.find_node(words.split())
    assert rest == []
    return node


def candidates(*words: str) -> list[str]:
    return [candidate.word for candidate in complete_words(GRAMMAR, list(words))[0]]


def test_hidden_commands_are_never_offered() -> None:
    assert "__complete" in GRAMMAR.root.children
    assert "__complete" not in [candidate.word for candidate in next_words_at(GRAMMAR.root)]
    assert not any("__complete" in node.words for node in visible_nodes(GRAMMAR))


def test_all_other_commands_are_visible_nodes() -> None:
    visible = {node.words for node in visible_nodes(GRAMMAR)}
    assert {spec.words for spec in GRAMMAR.specs if not spec.hidden} <= visible


def test_groups_are_described_by_their_first_commands_and_commands_by_their_summary() -> None:
    described = {candidate.word: candidate.description for candidate in next_words_at(node_of("task"))}
    assert described["create"] == REGISTRY["task.create"].summary
    assert described["docs"] == "add, list, show …"


def test_the_flags_of_a_command_are_its_own_flags_and_the_common_flags() -> None:
    described = {candidate.word: candidate.description for candidate in flags_at(node_of("task create"))}
    assert described["--description-file"] == "from a file"
    assert not described["--priority"].endswith(".")
    assert {f"--{name}" for name in COMMON_FLAGS} <= described.keys()
    assert {candidate.word for candidate in flags_at(GRAMMAR.root)} >= {f"--{name}" for name in COMMON_FLAGS}


def test_the_values_of_a_flag_are_choices_files_or_values_from_the_server() -> None:
    values = values_at(node_of("task create"))
    assert values["--priority"] == ValueSlot(words=("critical", "high", "normal", "low"))
    assert values["--description-file"] == ValueSlot(kind=FILES)
    assert values["--depends-on"] == ValueSlot(kind="task")
    assert values["--project"] == ValueSlot(kind="project")
    assert values["--idempotency-key"] == ValueSlot()


def test_a_switch_has_no_value() -> None:
    assert "--mine" not in values_at(node_of("task list"))


def test_all_kinds_of_completed_values_are_known() -> None:
    kinds = {slot.kind for node in visible_nodes(GRAMMAR) for slot in [*values_at(node).values(), argument_at(node)]}
    assert kinds == {"", FILES, *ASKED}


@pytest.mark.parametrize(
    ("words", "slot"),
    [
        ("task show", ValueSlot(kind="task")),
        ("completion", ValueSlot(words=("bash", "zsh", "fish"))),
        ("task", ValueSlot()),
        ("restore", ValueSlot(kind=FILES)),
    ],
)
def test_the_values_of_an_argument_are_choices_files_or_values_from_the_server(words: str, slot: ValueSlot) -> None:
    assert argument_at(node_of(words)) == slot


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["task", "create", "--priority", "c"], ["critical"]),
        (["--json", "task", "crea"], ["create"]),
        (["task", "create", "x", "--accep"], ["--accept"]),
        (["task", "list", "--mine", "--status", "in_p"], ["in_progress"]),
        (["no-such-command", "tas"], ["task"]),
        (["task", "zzz"], []),
    ],
)
def test_only_words_with_the_prefix_are_candidates(words: list[str], expected: list[str]) -> None:
    assert candidates(*words) == expected


def test_without_a_word_all_commands_are_candidates() -> None:
    assert candidates() == candidates("") == [candidate.word for candidate in next_words_at(GRAMMAR.root)]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["task", "show", "#"], "task"),
        (["task", "list", "--project", ""], "project"),
        (["task", "create", "--description-file", ""], FILES),
        (["task", "show", "--js"], ""),
    ],
)
def test_completion_of_a_value_from_the_server_returns_its_kind(words: list[str], kind: str) -> None:
    assert complete_words(GRAMMAR, words)[1] == kind
