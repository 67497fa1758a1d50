"""Write the command reference as Markdown from the grammar: the file docs/reference/commands.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from maestro.domain.callers import Callers
from maestro.operations.base import Operation
from maestro.operations.registry import REGISTRY
from maestro.surfaces.cli import error_exit_codes, help
from maestro.surfaces.cli.grammar import COMMON_FLAGS, PROGRAM, CommandSpec, Grammar

_ROLES = {
    Callers.PERSON: "the person",
    Callers.COORDINATOR: "a coordinator",
    Callers.WORKER: "a worker",
    Callers.HOLDER: "a worker, on a task it holds",
    Callers.NOBODY: "anyone else",
}
_OPENING = f"""\
# Commands

Generated from the registry of operations by `make docs`: change the declarations, not this file.

Every command also takes the flags in the first table. Lists are separated by commas or repeated; times read
`500ms`, `30s`, `5m`, `2h` (a bare number is milliseconds); `--` ends the flags. Long text also comes from a file
(`--NAME-file`) or, where the value is `-`, from standard input. A task is `vc#12`, `#12` in its project, or its id.
Data goes to standard output, notes and errors to standard error; with `--json` answers and errors are JSON.
`{PROGRAM} help COMMAND` shows the same text in the terminal.
"""


def command_reference(registry: Mapping[str, Operation] = REGISTRY) -> str:
    """Return the whole page. The same registry always gives the same text."""
    parts = [_OPENING, _common_flags(), _exit_codes()]
    for heading, specs in help.group_by_heading(Grammar(registry).root.visible_specs()).items():
        parts.append(f"## {heading}\n")
        parts += map(_command_section, specs)
    return "\n".join(parts)


def callers_text(allowed: Callers) -> str:
    """Return the permitted callers as text."""
    if Callers.ANYONE in allowed:
        return "anyone"
    if Callers.KNOWN in allowed:
        return "the person and every session"
    return ", ".join(name for role, name in _ROLES.items() if role in allowed)


def _common_flags() -> str:
    rows = [
        [f"`--{name} {value}`".replace(" `", "`"), description] for name, (value, description) in COMMON_FLAGS.items()
    ]
    return _markdown_table(["flag of every command", ""], rows)


def _exit_codes() -> str:
    rows = [[str(code), meaning] for code, meaning in error_exit_codes.MEANINGS.items()]
    return _markdown_table(["exit code", ""], rows)


def _command_section(spec: CommandSpec) -> str:
    parts = [f"### {f'{PROGRAM} {spec.words}'.strip()}\n", f"{spec.summary}\n", f"```\n{spec.usage_line}\n```\n"]
    rows = [[f"`{argument.placeholder}`", help.explain_parameter(argument)] for argument in spec.positionals]
    rows += [[f"`{help.flag_spelling(flag)}`", help.explain_flag(flag)] for flag in spec.flags.values()]
    if rows:
        parts.append(_markdown_table(["argument or flag", ""], rows))
    if spec.examples:
        parts.append("```sh\n" + "\n".join(spec.examples) + "\n```\n")
    parts.append("\n".join(_command_facts(spec)) + "\n")
    return "\n".join(parts)


def _command_facts(spec: CommandSpec) -> Iterable[str]:
    if spec.aliases:
        yield "- Also: " + ", ".join(f"`{PROGRAM} {words}`" for words in spec.aliases)
    yield f"- Who may call: {callers_text(spec.callers)}"
    if spec.local:
        yield "- Runs in the client, without the server"
    operation = spec.operation
    if operation is None:
        return
    yield f"- HTTP: `{operation.http.verb} {operation.http.path}` (operation `{operation.name}`)"
    if operation.errors:
        codes = (f"`{kind.code}` (exit {error_exit_codes.exit_code_of(kind)})" for kind in operation.errors)
        yield f"- Errors: {', '.join(codes)}"


def _markdown_table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines) + "\n"
