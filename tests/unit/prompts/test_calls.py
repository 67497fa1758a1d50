"""Calls in templates: the table agrees with the registry, and both ways of writing a call are ones that work."""

from __future__ import annotations

import ast
import shlex
from importlib.resources import files
from typing import Any

import msgspec
import pytest

from maestro.domain.manifests import Reach
from maestro.errors import Invalid
from maestro.operations.registry import REGISTRY
from maestro.prompts import calls
from maestro.surfaces.cli.grammar import Grammar
from maestro.surfaces.cli.parameters import Kind, parameters
from maestro.surfaces.cli.parse import parse

# Part of the command line's contract, but not yet of the registry: what they take.
COMING = {}

GRAMMAR = Grammar(REGISTRY)


def words_of_ours() -> dict[str, str]:
    """Every text that the package brings."""
    folder = files("maestro.prompts")
    found = [*(folder / "templates").iterdir(), *(folder / "rules").iterdir()]
    return {file.name: file.read_text(encoding="utf-8") for file in found if file.name.endswith(".md")}


MENTIONED = sorted(
    {
        (operation, tuple((name, tuple(values)) for name, values in arguments.items()))
        for text in words_of_ours().values()
        for _, operation, arguments in calls.mentioned(text)
    }
)


@pytest.mark.parametrize("operation", sorted(calls.CALLS))
def test_the_table_agrees_with_the_registry(operation: str) -> None:
    if operation not in REGISTRY:
        assert operation in COMING
        return
    call, declared = calls.CALLS[operation], REGISTRY[operation]
    assert declared.command is not None
    assert (call.words, call.positional) == (declared.command.words, declared.command.positional)
    for name, parameter in parameters(declared.request).items():
        if parameter.kind is Kind.FILE and parameter.many:
            continue  # attachments: no template names one
        assert (name in call.lists) == parameter.many, name
        assert call.flags.get(name, name.replace("_", "-")) == parameter.flag, name
        assert (name == call.content) == (parameter.kind is Kind.FILE), name


@pytest.mark.parametrize(("operation", "written"), MENTIONED)
def test_every_command_in_our_texts_can_be_typed(
    operation: str, written: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    arguments = {name: list(values) for name, values in written}
    if operation not in REGISTRY:
        assert set(arguments) <= COMING[operation]
        return
    line = shlex.split(calls.spell(Reach.COMMANDS, operation, arguments))
    assert line[0] == "maestro"
    parsed = parse(GRAMMAR, line[1:])
    assert parsed.spec.operation is REGISTRY[operation]


@pytest.mark.parametrize(("operation", "written"), MENTIONED)
def test_every_tool_call_in_our_texts_has_the_right_shape(
    operation: str, written: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    tool, fields = read_call(calls.spell(Reach.MCP, operation, {name: list(values) for name, values in written}))
    assert tool == operation.replace(".", "_")
    if operation in REGISTRY:
        fields = {name: b"" if value == "CONTENT" else value for name, value in fields.items()}
        msgspec.convert(fields, REGISTRY[operation].request)


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """A call as a model would read it."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
    values = {
        one.arg: True if ast.unparse(one.value) == "true" else ast.literal_eval(one.value) for one in call.keywords
    }
    return call.func.id, {name: value for name, value in values.items() if name is not None}


@pytest.mark.parametrize(
    ("written", "command", "tool"),
    [
        ("{{mail.inbox}}", "`maestro mail inbox`", "`mail_inbox()`"),
        ("{{mail.wait timeout=9m}}", "`maestro mail wait --timeout 9m`", "`mail_wait(timeout=540000)`"),
        ("{{task.ready parent=REF}}", "`maestro task ready REF`", '`task_ready(parent="REF")`'),
        (
            '{{session.report kind=complete text="All done"}}',
            '`maestro session report complete "All done"`',
            '`session_report(kind="complete", text="All done")`',
        ),
        (
            "{{session.list my_workers active}}",
            "`maestro session list --my-workers --active`",
            "`session_list(my_workers=true, active=true)`",
        ),
        (
            "{{ask.create choice=a choice=b title=Which?}}",
            '`maestro ask create "Which?" --choice a --choice b`',
            '`ask_create(choice=["a", "b"], title="Which?")`',
        ),
        (
            "{{task.create title=T gates=make}}",
            "`maestro task create T --gate make`",
            '`task_create(title="T", gates=["make"])`',
        ),
        (
            "{{task.docs.add id=A title=B content=-}}",
            "`maestro task docs add A B --file -`",
            '`task_docs_add(id="A", title="B", content="CONTENT")`',
        ),
        ("${{ secrets.KEY }} and {{}}", "${{ secrets.KEY }} and {{}}", "${{ secrets.KEY }} and {{}}"),
    ],
)
def test_a_placeholder_is_spelt_for_its_reader(written: str, command: str, tool: str) -> None:
    assert calls.filled(written, Reach.COMMANDS) == command
    assert calls.filled(written, Reach.MCP) == tool


@pytest.mark.parametrize(
    ("value", "quoted"),
    [("vc#12", "vc#12"), ("#12", '"#12"'), ("a b", '"a b"'), ("a`b", "'a`b'"), ("$x", "'$x'"), ("it's", '"it\'s"')],
)
def test_a_value_survives_the_shell(value: str, quoted: str) -> None:
    assert calls.spell(Reach.COMMANDS, "task.show", {"id": [value]}) == f"maestro task show {quoted}"
    assert shlex.split(quoted) == [value]


@pytest.mark.parametrize("text", ["one\n{{mail.fly}}", 'one\n{{mail.send to="NAME}}'])
def test_a_placeholder_that_means_nothing_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        list(calls.mentioned(text))
    assert caught.value.data["line"] == 2
