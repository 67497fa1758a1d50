"""Write help from the grammar: the overview, a group of commands, one command."""

from __future__ import annotations

from collections.abc import Iterable

from maestro.surfaces.cli import error_exit_codes, values
from maestro.surfaces.cli.grammar import COMMON_FLAGS, PROGRAM, CommandNode, CommandSpec, Flag, FlagEffect
from maestro.surfaces.cli.parameters import Parameter, ValueKind
from maestro.surfaces.cli.render.style import align_rows, paint

# The heading of each group of operations and of the built-in commands. Other groups use their own name.
_HEADINGS = {
    "task": "Tasks",
    "project": "Projects",
    "member": "Members and teams",
    "team": "Members and teams",
    "session": "Sessions",
    "caller": "Sessions",
    "server": "The server",
    "events": "The server",
    "config": "The server",
    "local": "The server",
    "surface": "Help",
}
_SEPARATE = (
    "Lists are separated by commas or repeated. Times read 500ms, 30s, 5m, 2h; a bare number is milliseconds.\n"
    "Long text also comes from a file (--NAME-file) or, with `-`, from standard input."
)


def overview_help(root: CommandNode) -> str:
    """Return the overview: every command on one line."""
    parts = [
        f"usage: {PROGRAM} COMMAND [ARGUMENT…] [--FLAG…]\n\n",
        "Maestro is the coordination layer for coding agents.\n",
    ]
    for heading, specs in group_by_heading(root.visible_specs()).items():
        parts.append(f"\n{paint(heading, 'bold')}\n{_spec_lines(specs)}")
    parts.append(f"\n{paint('Every command', 'bold')}\n{_common_flags()}")
    parts.append(f"\n{_SEPARATE}\n`{PROGRAM} help COMMAND` explains a command. {exit_codes_line()}\n")
    return "".join(parts)


def group_help(node: CommandNode) -> str:
    """Return help for a group of commands."""
    specs = list(node.visible_specs())
    return (
        f"usage: {PROGRAM} {node.words} COMMAND …\n\n{_spec_lines(specs)}\n"
        f"`{PROGRAM} help {node.words} COMMAND` explains a command.\n"
    )


def command_help(spec: CommandSpec) -> str:
    """Return the full help for one command."""
    parts = [f"usage: {spec.usage_line}\n\n{spec.summary}\n"]
    if spec.aliases:
        parts.append("\nalso: " + ", ".join(f"{PROGRAM} {words}" for words in spec.aliases) + "\n")
    if spec.positionals:
        rows = [[argument.placeholder, explain_parameter(argument)] for argument in spec.positionals]
        parts.append(f"\n{paint('arguments', 'bold')}\n{align_rows(rows, indent='  ')}")
    if spec.flags:
        rows = [[flag_spelling(flag), explain_flag(flag)] for flag in spec.flags.values()]
        parts.append(f"\n{paint('flags', 'bold')}\n{align_rows(rows, indent='  ')}")
    parts.append(f"\n{paint('every command', 'bold')}\n{_common_flags()}")
    if spec.examples:
        lines = "".join(f"  {example}\n" for example in spec.examples)
        parts.append(f"\n{paint('examples', 'bold')}\n{lines}")
    parts.append(f"\n{exit_codes_line()}\n")
    return "".join(parts)


def help_for_node(node: CommandNode) -> str:
    """Return help for a node: the overview, a group, a command, or both."""
    if not node.words:
        return overview_help(node)
    if node.spec is None:
        return group_help(node)
    text = command_help(node.spec)
    return f"{text}\n{group_help(node)}" if node.children else text


def group_by_heading(specs: Iterable[CommandSpec]) -> dict[str, list[CommandSpec]]:
    """Group commands by their headings."""
    specs_by_heading: dict[str, list[CommandSpec]] = {}
    for spec in specs:
        specs_by_heading.setdefault(heading_of(spec), []).append(spec)
    return specs_by_heading


def heading_of(spec: CommandSpec) -> str:
    if spec.operation is None:
        return _HEADINGS["local" if spec.local else "surface"]
    return _HEADINGS.get(spec.operation.group_name, spec.operation.group_name.capitalize())


def flag_spelling(flag: Flag) -> str:
    """Return a flag with the placeholder of its value."""
    if flag.effect is FlagEffect.FILE:
        return f"--{flag.name} FILE"
    return f"--{flag.name} {flag.parameter.placeholder}" if flag.takes_value else f"--{flag.name}"


def explain_flag(flag: Flag) -> str:
    match flag.effect:
        case FlagEffect.FILE:
            return f"{flag.parameter.label}, from a file."
        case FlagEffect.OFF:
            return f"The opposite of --{flag.parameter.flag}."
        case _:
            return explain_parameter(flag.parameter)


def explain_parameter(parameter: Parameter) -> str:
    """Return a parameter's description with its choices, aliases, syntax and default."""
    parts = [parameter.description]
    if parameter.choices and parameter.placeholder == parameter.label:
        parts.append(f"One of: {', '.join(parameter.choices)}.")
    if parameter.aliases:
        parts.append("Also " + ", ".join(f"{old} for {new}" for old, new in parameter.aliases.items()) + ".")
    if parameter.is_comma_separated and "comma" not in parameter.description:
        parts.append("Separated by commas, or repeated.")
    if parameter.is_list and parameter.nullable:
        parts.append("'' for none.")
    if parameter.is_long_text or parameter.kind is ValueKind.FILE:
        parts.append("- reads standard input.")
    if shown := default_text(parameter):
        parts.append(f"(default {shown})")
    return " ".join(part for part in parts if part)


def default_text(parameter: Parameter) -> str:
    """Return the default of a parameter as text; empty without a default."""
    value = parameter.default
    if value in (None, "", False) or parameter.required:
        return ""
    return values.format_duration(value) if parameter.kind is ValueKind.DURATION else str(value)


def exit_codes_line() -> str:
    return (
        "Exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in error_exit_codes.MEANINGS.items()) + "."
    )


def _spec_lines(specs: Iterable[CommandSpec]) -> str:
    return align_rows([[f"{PROGRAM} {spec.words}".strip(), spec.summary] for spec in specs], indent="  ")


def _common_flags() -> str:
    rows = [[f"--{name} {value}".strip(), description] for name, (value, description) in COMMON_FLAGS.items()]
    return align_rows(rows, indent="  ")
