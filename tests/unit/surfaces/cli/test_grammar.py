"""Each declared field can be written on the command line, and each example is a valid command."""

from __future__ import annotations

import shlex

import pytest

from maestro.operations.base import Operation
from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli.grammar import PROJECT, CommandSpec, FlagEffect, Grammar
from maestro.surfaces.cli.parse import parse_command

GRAMMAR = Grammar(REGISTRY)
OPERATIONS = [operation for operation in REGISTRY.values() if operation.command]
SPECS = GRAMMAR.specs


def spec_of(operation: Operation) -> CommandSpec:
    assert operation.command
    node, rest = GRAMMAR.find_node(operation.command.command_path.split())
    assert not rest and node.spec
    return node.spec


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_field_has_an_argument_or_a_flag(operation: Operation) -> None:
    spec = spec_of(operation)
    written = {parameter.field for parameter in spec.positionals}
    written |= {flag.parameter.field for flag in spec.flags.values()}
    assert operation.command
    written |= {spec.rest.field} if spec.rest else set()
    assert written | set(operation.command.hidden) | {PROJECT} >= set(operation.request.__struct_fields__)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.words or "maestro")
def test_every_example_is_a_valid_command(spec: CommandSpec) -> None:
    for example in spec.examples:
        if not example.startswith("maestro ") or "|" in example:
            continue
        found = parse_command(GRAMMAR, shlex.split(example)[1:])
        assert found.spec is spec


def test_an_alias_leads_to_the_same_command() -> None:
    assert GRAMMAR.find_node(["task", "claim"])[0].spec is GRAMMAR.find_node(["task", "start"])[0].spec
    assert GRAMMAR.find_node(["config"])[0].spec is GRAMMAR.find_node(["config", "get"])[0].spec


def test_the_most_used_commands_keep_their_flags() -> None:
    """Check the flags that people and agents use in scripts and prompts."""
    expected = {
        "task create": "description stage found-in parent depends-on priority member accept gate",
        "task list": "status mine",
        "task depend": "on remove",
        "task start": "lease",
        "task wait": "until timeout",
        "task block": "reason",
        "task docs add": "file",
        "session register": "mode name parent pid",
        "session heartbeat": "status",
        "events": "follow since kind",
        "init": "name",
    }
    for words, flags in expected.items():
        spec = GRAMMAR.find_node(words.split())[0].spec
        assert spec and set(flags.split()) <= set(spec.flags)


def test_only_an_optional_switch_has_a_flag_that_turns_it_off() -> None:
    spec = GRAMMAR.find_node(["task", "edit"])[0].spec
    assert spec and spec.flags["no-archived"].effect is FlagEffect.OFF
    spec = GRAMMAR.find_node(["task", "list"])[0].spec
    assert spec and "no-mine" not in spec.flags


def test_a_long_text_has_a_file_flag_also_if_it_is_an_argument() -> None:
    for words, flag in (("task create", "description-file"), ("task report", "text-file")):
        spec = GRAMMAR.find_node(words.split())[0].spec
        assert spec and spec.flags[flag].effect is FlagEffect.FILE


def test_only_optional_parts_have_brackets_in_the_usage_line() -> None:
    assert spec_of(REGISTRY["task.depend"]).usage_line == "maestro task depend ID --on IDS [--remove]"
    assert spec_of(REGISTRY["project.show"]).usage_line == "maestro project show [PROJECT]"
    assert spec_of(REGISTRY["task.wait"]).usage_line.startswith(
        "maestro task wait IDS… [--until completed|ready|any-change]"
    )
