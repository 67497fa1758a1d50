"""A command line is parsed into command, arguments and flags, and errors name the problem and the nearest words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from maestro.core.errors import Invalid
from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli.grammar import Grammar
from maestro.surfaces.cli.parse import ParsedCommand, decode_arguments, parse_command, wants_json

GRAMMAR = Grammar(REGISTRY)


def parsed(*arguments: str) -> ParsedCommand:
    return parse_command(GRAMMAR, list(arguments))


def refused(*arguments: str) -> Invalid:
    with pytest.raises(Invalid) as caught:
        parsed(*arguments)
    return caught.value


def test_a_command_line_is_parsed_into_command_arguments_and_flags() -> None:
    found = parsed("task", "create", "Parse it", "--depends-on", "#1,#2", "--priority=high")
    assert found.spec.words == "task create"
    assert found.texts == {"title": ["Parse it"], "depends_on": ["#1,#2"], "priority": ["high"]}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--json", "--status", "todo", "task", "list", "--mine"),
        ("task", "--status", "todo", "list", "--mine", "--json"),
        ("task", "list", "--mine", "--json", "--status=todo"),
    ],
)
def test_flags_may_stand_at_any_position(arguments: tuple[str, ...]) -> None:
    found = parsed(*arguments)
    assert found.spec.words == "task list" and found.json
    assert found.texts == {"status": ["todo"]} and found.switches == {"mine": True}


def test_every_command_accepts_the_common_flags() -> None:
    found = parsed("task", "list", "--project", "vc", "--key", "k1", "--json")
    assert (found.project, found.key, found.json) == ("vc", "k1", True)
    assert parsed("task", "list", "--idempotency-key=k2").key == "k2"


def test_two_dashes_end_the_flags() -> None:
    found = parsed("task", "create", "--priority", "low", "--", "--help")
    assert found.texts == {"title": ["--help"], "priority": ["low"]} and not found.help


@pytest.mark.parametrize("value", ["-", "-5", "- a point of a list", "-- two dashes and words", "", "--=", "-1.5s"])
def test_a_value_or_an_argument_may_begin_with_a_dash(value: str) -> None:
    assert parsed("task", "create", "x", "--description", value).texts["description"] == [value]
    assert parsed("task", "create", f"x{value}", f"--description={value}").texts["description"] == [value]
    if value != "":
        assert parsed("task", "create", value).texts["title"] == [value]


def test_a_value_with_the_name_of_a_flag_needs_an_equals_sign() -> None:
    error = refused("task", "block", "#1", "--reason", "--fence", "3")
    assert "--reason needs a value" in error.message and "--reason=VALUE" in error.message
    assert parsed("task", "block", "#1", "--reason=--fence").texts["reason"] == ["--fence"]


def test_a_list_at_the_end_takes_all_remaining_arguments() -> None:
    assert parsed("task", "wait", "#4", "#5,#6", "--until", "ready").texts["ids"] == ["#4", "#5,#6"]


def test_optional_arguments_may_be_missing() -> None:
    assert parsed("task", "tree").texts == {}
    assert parsed("task", "tree", "#3").texts == {"id": ["#3"]}
    assert parsed("project", "show").texts == {}


def test_an_alias_with_subcommands_is_parsed_as_command_or_subcommand() -> None:
    assert parsed("config").spec.words == "config get"
    assert parsed("config", "human").texts == {"name": ["human"]}
    assert parsed("config", "set", "human", "dana").spec.words == "config set"


@pytest.mark.parametrize(
    "arguments", [("-h",), ("task", "--help"), ("task", "block", "--reason", "-h"), ("bogus", "-h")]
)
def test_a_help_flag_is_recognised_in_an_invalid_command_line(arguments: tuple[str, ...]) -> None:
    assert parsed(*arguments).help


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("task", "lst"), "maestro task list"),
        (("task", "ls"), "maestro task list"),
        (("task", "new", "x"), "maestro task create"),
        (("create", "task"), "maestro task create"),
        (("unblock", "#4"), "maestro task unblock"),
        (("stat",), "maestro status"),
    ],
)
def test_an_unknown_command_is_refused_with_the_nearest_command(arguments: tuple[str, ...], nearest: str) -> None:
    error = refused(*arguments)
    assert f"did you mean `{nearest}`" in error.message
    assert error.hint.startswith(f"usage: {nearest}")


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (("tsk", "list"), ["task list", "ask list"]),
        (("claim", "#4"), ["task claim", "issue claim", "mail claim"]),
    ],
)
def test_an_unknown_command_is_refused_with_all_equally_near_commands(
    arguments: tuple[str, ...], nearest: list[str]
) -> None:
    error = refused(*arguments)
    assert error.data["nearest"] == nearest and "maestro help" in error.hint
    assert all(f"`maestro {command}`" in error.message for command in nearest)


def test_a_group_without_a_command_is_refused_with_its_commands() -> None:
    error = refused("task", "docs")
    assert "add, list, show" in error.message


@pytest.mark.parametrize(
    ("flag", "nearest"),
    [
        ("--desc", "--description"),
        ("--dependson", "--depends-on"),
        ("--depends_on", "--depends-on"),
        ("--after", "--depends-on"),
        ("--prio", "--priority"),
        ("--gates", "--gate"),
        ("-p", "--parent"),
        ("-priority", "--priority"),
        ("--jsn", "--json"),
    ],
)
def test_an_unknown_flag_is_refused_with_the_nearest_flag_and_the_usage(flag: str, nearest: str) -> None:
    error = refused("task", "create", "x", flag, "y")
    assert f"`{nearest}`" in error.message
    assert error.hint.startswith("usage: maestro task create TITLE [--description TEXT]")
    assert nearest in error.data["nearest"] and error.data["usage"].startswith("maestro task create")


def test_the_refusal_of_an_argument_that_is_written_as_a_flag_explains_the_mistake() -> None:
    assert "write TITLE as an argument" in refused("task", "create", "--title", "x").message


def test_the_refusal_of_too_many_arguments_explains_quotes() -> None:
    error = refused("task", "report", "progress", "#4", "some", "words")
    assert "`words` is one argument too many" in error.message and "quotes" in error.message


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("task", "create"), "TITLE is missing"),
        (("task", "depend", "#1"), "--on IDS is missing"),
        (("task", "report", "progress", "#1"), "TEXT is missing"),
        (("task", "list", "--limit"), "--limit needs a value"),
        (("task", "list", "--limit", "1", "--limit", "2"), "--limit is given twice"),
        (("task", "list", "--project"), "--project needs a value"),
        (("task", "list", "--project", "a", "--project", "b"), "--project is given twice"),
        (("task", "create", "x", "--description", "a", "--description-file", "b"), "given twice"),
        (("task", "report", "progress", "#1", "text", "--text-file", "b"), "given twice"),
        (("task", "list", "--mine=maybe"), "--mine takes no value"),
        (("whoami", "really"), "takes no argument"),
        (("task", "list", "extra"), "takes no argument"),
    ],
)
def test_the_refusal_of_a_command_line_names_the_problem(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments).message


def test_a_switch_is_turned_on_or_off_once() -> None:
    assert parsed("task", "edit", "#1", "--archived").switches == {"archived": True}
    assert parsed("task", "edit", "#1", "--no-archived").switches == {"archived": False}
    assert parsed("task", "list", "--mine=false").switches == {"mine": False}
    assert "twice" in refused("task", "edit", "#1", "--archived", "--no-archived").message


def test_arguments_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(Invalid, match=r"UTF-8.*caf"):
        decode_arguments([b"task", b"caf\xe9"])


def test_the_json_flag_is_recognised_in_an_invalid_command_line() -> None:
    assert wants_json(["nonsense", "--json"])
    assert not wants_json(["nonsense", "--", "--json"])


def _words() -> Any:
    known = [word for spec in GRAMMAR.specs for word in spec.words.split()]
    flags = [f"--{name}" for spec in GRAMMAR.specs for name in spec.flags]
    return some.sampled_from([*known, *flags, "--", "-", "-h", "--json", "#1", "--x=y"]) | some.text(max_size=8)


@given(some.lists(_words(), max_size=8))
def test_a_random_command_line_is_parsed_or_refused_with_a_message(arguments: list[str]) -> None:
    try:
        found = parsed(*arguments)
    except Invalid as error:
        assert error.message
    else:
        assert found.help or found.node.spec
