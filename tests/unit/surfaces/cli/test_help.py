"""Help shows an overview, a group of commands or a command, and explains each parameter and flag."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli import help, local_commands
from maestro.surfaces.cli.grammar import CommandNode, CommandSpec, Flag, FlagEffect, Grammar
from maestro.surfaces.cli.parameters import Parameter, ValueKind
from maestro.surfaces.cli.render.style import finish_text

GRAMMAR = Grammar(REGISTRY)
SPECS = GRAMMAR.specs


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.words or "maestro")
def test_help_of_every_command_explains_each_argument_and_flag(spec: CommandSpec) -> None:
    text = help.command_help(spec)
    assert text.startswith(f"usage: maestro {spec.words}".strip())
    assert spec.summary.endswith(".") and spec.summary in text
    for parameter in spec.positionals:
        assert parameter.description, f"{spec.words}: {parameter.field} is not documented"
        assert parameter.placeholder in spec.usage_line
    for name, flag in spec.flags.items():
        assert flag.parameter.description, f"{spec.words}: --{name} is not documented"
        assert f"--{name}" in text
    assert "Exit codes:" in text


def test_the_overview_has_every_local_command_and_no_hidden_command() -> None:
    local = {"up", "restore", "mcp", "connect", "disconnect", "doctor", "demo", "version"}
    assert {*local, "--version"} == local_commands.LOCAL_COMMANDS
    overview = help.overview_help(GRAMMAR.root)
    assert all(f"maestro {word}" in overview for word in local)
    assert "__complete" not in overview


def node_of(words: str) -> CommandNode:
    node, rest = GRAMMAR.find_node(words.split())
    assert rest == []
    return node


def parameter(**fields: Any) -> Parameter:
    values: dict[str, Any] = {
        "field": "note",
        "flag": "note",
        "label": "NOTE",
        "kind": ValueKind.TEXT,
        "description": "A note.",
        "required": False,
        "default": None,
    }
    return Parameter(**{**values, **fields})


def test_help_of_a_node_is_the_overview_a_group_or_a_command() -> None:
    assert help.help_for_node(GRAMMAR.root) == help.overview_help(GRAMMAR.root)
    assert help.help_for_node(node_of("task docs")) == help.group_help(node_of("task docs"))
    create = node_of("task create")
    assert create.spec is not None and help.help_for_node(create) == help.command_help(create.spec)


def test_help_of_a_command_with_subcommands_shows_the_command_and_the_subcommands() -> None:
    timeline = node_of("timeline")
    text = help.help_for_node(timeline)
    assert timeline.spec is not None and text.startswith(help.command_help(timeline.spec))
    assert "maestro timeline export" in text


def test_help_of_a_command_shows_aliases_and_examples() -> None:
    spec = node_of("task start").spec
    assert spec is not None
    text = help.command_help(spec)
    assert "also: maestro task claim\n" in text
    assert all(f"  {example}\n" in text for example in spec.examples)


def test_help_of_a_command_without_arguments_and_flags_has_no_heading_for_them() -> None:
    bare = next(spec for spec in SPECS if not spec.positionals and not spec.flags and not spec.aliases)
    text = finish_text(help.command_help(bare))
    assert "\narguments\n" not in text and "\nflags\n" not in text and "also:" not in text
    assert "\nevery command\n" in text


def test_the_overview_groups_commands_under_headings() -> None:
    headings = help.group_by_heading(GRAMMAR.root.visible_specs())
    assert {"Tasks", "Members and teams", "The server", "Help"} <= headings.keys()
    assert {spec.words.split()[0] for spec in headings["Members and teams"]} == {"member", "team"}
    assert "up" in {spec.words for spec in headings["The server"]}
    assert "help" in {spec.words for spec in headings["Help"]}


def test_the_heading_of_a_group_is_its_name_by_default() -> None:
    spec = node_of("mail inbox").spec
    assert spec is not None and help.heading_of(spec) == "Mail"


@pytest.mark.parametrize(
    ("effect", "spelling", "explanation"),
    [
        (FlagEffect.VALUE, "--note NOTE", "A note."),
        (FlagEffect.FILE, "--note-file FILE", "NOTE, from a file."),
        (FlagEffect.ON, "--note", "A note."),
        (FlagEffect.OFF, "--no-note", "The opposite of --note."),
    ],
)
def test_the_effect_of_a_flag_decides_its_spelling_and_explanation(
    effect: FlagEffect, spelling: str, explanation: str
) -> None:
    flag = Flag(spelling.split()[0].removeprefix("--"), parameter(), effect)
    assert help.flag_spelling(flag) == spelling
    assert help.explain_flag(flag) == explanation


@pytest.mark.parametrize(
    ("fields", "explanation"),
    [
        ({}, "A note."),
        ({"description": ""}, ""),
        ({"choices": ("a", "b")}, "A note."),  # the placeholder shows the choices
        ({"choices": ("a", "b", "c", "d", "e")}, "A note. One of: a, b, c, d, e."),
        ({"choices": ("a", "b"), "is_list": True}, "A note. One of: a, b."),
        ({"aliases": {"old": "new"}}, "A note. Also old for new."),
        ({"is_list": True, "is_comma_separated": True}, "A note. Separated by commas, or repeated."),
        (
            {"is_list": True, "is_comma_separated": True, "description": "By comma."},
            "By comma.",
        ),
        ({"is_list": True, "nullable": True}, "A note. '' for none."),
        ({"nullable": True}, "A note."),
        ({"is_long_text": True}, "A note. - reads standard input."),
        ({"kind": ValueKind.FILE}, "A note. - reads standard input."),
        ({"default": 3, "kind": ValueKind.NUMBER}, "A note. (default 3)"),
    ],
)
def test_the_explanation_of_a_parameter_names_its_syntax_and_default(
    fields: dict[str, Any], explanation: str
) -> None:
    assert help.explain_parameter(parameter(**fields)) == explanation


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"default": None}, ""),
        ({"default": ""}, ""),
        ({"default": False}, ""),
        ({"default": "dag"}, "dag"),
        ({"default": "dag", "required": True}, ""),
        ({"default": 60_000, "kind": ValueKind.DURATION}, "1m"),
    ],
)
def test_an_empty_or_false_default_is_not_shown(fields: dict[str, Any], text: str) -> None:
    assert help.default_text(parameter(**fields)) == text
