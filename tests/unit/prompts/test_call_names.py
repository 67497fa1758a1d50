"""The table of calls agrees with registry and tools, and each call in a template works as command and as tool."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from maestro.core.errors import Invalid
from maestro.domain.callers import Caller, Role
from maestro.domain.manifests import AgentReach
from maestro.domain.sessions import SessionMode
from maestro.operations.registry import REGISTRY
from maestro.prompts import call_names, session_rules
from maestro.prompts.templates import packaged_templates
from maestro.surfaces.cli.grammar import Grammar
from maestro.surfaces.cli.parameters import ValueKind, parameters_of
from maestro.surfaces.cli.parse import parse_command
from maestro.surfaces.mcp.tools import tool_list
from maestro.surfaces.mcp.tools.calls import ToolCalls

# The arguments of commands that templates already name, but that the registry does not contain yet.
COMING = {}
# The MCP tool runs another operation than the command, because its answer contains more.
SAME = {"caller.whoami": "session.primer"}
CALLED = ToolCalls(None, render_answer=str, render_hint=str)  # type: ignore[arg-type]

GRAMMAR = Grammar(REGISTRY)


def words_of_ours() -> dict[str, str]:
    """Return the texts of all templates and rules of the package, by file name."""
    folder = files("maestro.prompts")
    found = [*(folder / "templates").iterdir(), *(folder / "rules").iterdir()]
    return {file.name: file.read_text(encoding="utf-8") for file in found if file.name.endswith(".md")}


MENTIONED = sorted(
    {
        (operation, tuple((name, tuple(values)) for name, values in arguments.items()))
        for text in words_of_ours().values()
        for _, operation, arguments in call_names.find_placeholders(text)
    }
)


@pytest.mark.parametrize("operation", sorted(call_names.CALLS))
def test_the_table_of_calls_agrees_with_the_registry(operation: str) -> None:
    if operation not in REGISTRY:
        assert operation in COMING
        return
    call, declared = call_names.CALLS[operation], REGISTRY[operation]
    assert declared.command is not None
    assert (call.command_path, call.positional) == (declared.command.command_path, declared.command.positional)
    for name, parameter in parameters_of(declared.request).items():
        if parameter.kind is ValueKind.FILE and parameter.is_list:
            continue  # attachments: no template names an attachment
        assert (name in call.lists) == parameter.is_list, name
        assert call.flags.get(name, name.replace("_", "-")) == parameter.flag, name
        assert (name == call.content) == (parameter.kind is ValueKind.FILE), name


@pytest.mark.parametrize(("operation", "written"), MENTIONED)
def test_every_command_in_a_template_or_rule_can_be_parsed(
    operation: str, written: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    arguments = {name: list(values) for name, values in written}
    if operation not in REGISTRY:
        assert set(arguments) <= COMING[operation]
        return
    line = shlex.split(call_names.spell_call(AgentReach.COMMANDS, operation, arguments))
    assert line[0] == "maestro"
    parsed = parse_command(GRAMMAR, line[1:])
    assert parsed.spec.operation is REGISTRY[operation]


@pytest.mark.parametrize(("operation", "written"), MENTIONED)
def test_every_tool_call_in_a_template_or_rule_runs_the_named_operation(
    operation: str, written: tuple[tuple[str, tuple[str, ...]], ...]
) -> None:
    tool, fields = read_call(
        call_names.spell_call(AgentReach.MCP, operation, {name: list(values) for name, values in written})
    )
    use = CALLED.choose_use(tool, fields, Caller(Role.COORDINATOR, "boss"))
    assert use is not None and use.operation.name == SAME.get(operation, operation)
    assert set(fields) - {"action"} <= set(use.arguments)


@pytest.mark.parametrize("operation", sorted(set(call_names.CALLS) - {"caller.whoami"}))
def test_the_table_of_calls_agrees_with_the_mcp_tools(operation: str) -> None:
    call = call_names.CALLS[operation]
    (use,) = [use for use in tool_list.TOOLS_BY_NAME[call.tool].uses if use.operation.name == operation]
    assert use.action == call.action
    assert {field: argument for argument, field in use.field_names.items()} == call.arguments


def texts_for(mode: SessionMode) -> Iterator[str]:
    for template in packaged_templates().list_templates():
        if template.mode is mode:
            yield from (template.intro, *(phase.text for phase in template.phases))
    yield from (rule.text for rule in session_rules.rules_of_mode(mode))


@pytest.mark.parametrize(
    ("mode", "role"),
    [(SessionMode.EXECUTE, Role.WORKER), (SessionMode.PLAN, Role.WORKER), (SessionMode.COORDINATE, Role.COORDINATOR)],
)
def test_every_call_in_the_texts_for_a_session_is_in_its_list_of_tools(mode: SessionMode, role: Role) -> None:
    for text in texts_for(mode):
        for _, operation, _ in call_names.find_placeholders(text):
            uses = tool_list.TOOLS_BY_NAME[call_names.CALLS[operation].tool].uses_for(Caller(role, "x"))
            assert SAME.get(operation, operation) in {use.operation.name for use in uses}


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (
            "Look again later: maestro mail status msg_01ABC",
            'Look again later: mail(action="status", id="msg_01ABC")',
        ),
        ("Wait again: maestro ask wait ask_1", 'Wait again: wait(ask="ask_1")'),
        ("maestro session list shows those there are.", 'sessions(action="list") shows those there are.'),
        ("there is more: --cursor 3.17", 'there is more: cursor="3.17"'),
        ("Start it: maestro up", "Start it: maestro up"),
        ("maestro mail inbox --all", "inbox(all=true)"),
        ("maestro task show ID lists them.", 'tasks(action="show", id="ID") lists them.'),
        ("maestro session list --active, or so", 'sessions(action="list", active=true), or so'),
        ("Say --tool claude; or a program: -- PROGRAM ARGS…", "Say tool claude; or a program: arguments"),
        (
            "Claim what you still work on: maestro task start vc#3",
            'Claim what you still work on: task_update(action="start", id="vc#3")',
        ),
    ],
)
def test_commands_in_a_hint_are_replaced_by_tool_calls(hint: str, said: str) -> None:
    assert call_names.replace_commands_with_tools(hint) == said


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the fields of a call, parsed from its text."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
    values = {
        one.arg: True if ast.unparse(one.value) == "true" else ast.literal_eval(one.value) for one in call.keywords
    }
    return call.func.id, {name: value for name, value in values.items() if name is not None}


@pytest.mark.parametrize(
    ("written", "command", "tool"),
    [
        ("{{mail.inbox}}", "`maestro mail inbox`", "`inbox()`"),
        ("{{mail.wait timeout=9m}}", "`maestro mail wait --timeout 9m`", "`wait(timeout=540)`"),
        ("{{task.ready parent=REF}}", "`maestro task ready REF`", '`tasks(action="ready", parent="REF")`'),
        (
            '{{session.report kind=complete text="All done"}}',
            '`maestro session report complete "All done"`',
            '`report(kind="complete", text="All done")`',
        ),
        (
            "{{session.list my_workers active}}",
            "`maestro session list --my-workers --active`",
            '`sessions(action="list", my_workers=true, active=true)`',
        ),
        (
            "{{ask.create choice=a choice=b title=Which?}}",
            '`maestro ask create "Which?" --choice a --choice b`',
            '`ask(choice=["a", "b"], title="Which?")`',
        ),
        (
            "{{task.create title=T gates=make}}",
            "`maestro task create T --gate make`",
            '`task_create(title="T", gates=["make"])`',
        ),
        (
            "{{task.docs.add id=A title=B content=-}}",
            "`maestro task docs add A B --file -`",
            '`task_update(action="document", id="A", title="B", text="CONTENT")`',
        ),
        ("${{ secrets.KEY }} and {{}}", "${{ secrets.KEY }} and {{}}", "${{ secrets.KEY }} and {{}}"),
    ],
)
def test_a_placeholder_is_written_as_a_command_or_as_a_tool_call(written: str, command: str, tool: str) -> None:
    assert call_names.fill_placeholders(written, AgentReach.COMMANDS) == command
    assert call_names.fill_placeholders(written, AgentReach.MCP) == tool


@pytest.mark.parametrize(
    ("value", "quoted"),
    [("vc#12", "vc#12"), ("#12", '"#12"'), ("a b", '"a b"'), ("a`b", "'a`b'"), ("$x", "'$x'"), ("it's", '"it\'s"')],
)
def test_a_value_in_a_command_is_quoted_for_the_shell(value: str, quoted: str) -> None:
    assert call_names.spell_call(AgentReach.COMMANDS, "task.show", {"id": [value]}) == f"maestro task show {quoted}"
    assert shlex.split(quoted) == [value]


@pytest.mark.parametrize("text", ["one\n{{mail.fly}}", 'one\n{{mail.send to="NAME}}'])
def test_an_invalid_placeholder_is_refused_with_its_line_number(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        list(call_names.find_placeholders(text))
    assert caught.value.data["line"] == 2
