"""Write help from the grammar: the overview, a group of commands, one command."""

from __future__ import annotations

from collections.abc import Iterable

from maestro.surfaces.cli import exit_codes, values
from maestro.surfaces.cli.grammar import EVERYWHERE, PROGRAM, Flag, Gives, Node, Spec
from maestro.surfaces.cli.parameters import Kind, Parameter
from maestro.surfaces.cli.render.style import aligned, paint

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


def overview(root: Node) -> str:
    """Return the overview: every command on one line."""
    parts = [
        f"usage: {PROGRAM} COMMAND [ARGUMENT…] [--FLAG…]\n\n",
        "Maestro is the coordination layer for coding agents.\n",
    ]
    for heading, specs in grouped(root.offered()).items():
        parts.append(f"\n{paint(heading, 'bold')}\n{_spec_lines(specs)}")
    parts.append(f"\n{paint('Every command', 'bold')}\n{_common_flags()}")
    parts.append(f"\n{_SEPARATE}\n`{PROGRAM} help COMMAND` explains a command. {exit_line()}\n")
    return "".join(parts)


def group(node: Node) -> str:
    """Return help for a group of commands."""
    specs = list(node.offered())
    return (
        f"usage: {PROGRAM} {node.words} COMMAND …\n\n{_spec_lines(specs)}\n"
        f"`{PROGRAM} help {node.words} COMMAND` explains a command.\n"
    )


def command(spec: Spec) -> str:
    """Return the full help for one command."""
    parts = [f"usage: {spec.usage}\n\n{spec.summary}\n"]
    if spec.aliases:
        parts.append("\nalso: " + ", ".join(f"{PROGRAM} {words}" for words in spec.aliases) + "\n")
    if spec.positionals:
        rows = [[argument.placeholder, explained(argument)] for argument in spec.positionals]
        parts.append(f"\n{paint('arguments', 'bold')}\n{aligned(rows, indent='  ')}")
    if spec.flags:
        rows = [[spelling(flag), flag_explained(flag)] for flag in spec.flags.values()]
        parts.append(f"\n{paint('flags', 'bold')}\n{aligned(rows, indent='  ')}")
    parts.append(f"\n{paint('every command', 'bold')}\n{_common_flags()}")
    if spec.examples:
        lines = "".join(f"  {example}\n" for example in spec.examples)
        parts.append(f"\n{paint('examples', 'bold')}\n{lines}")
    parts.append(f"\n{exit_line()}\n")
    return "".join(parts)


def about(node: Node) -> str:
    """Return help for a node: the overview, a group, a command, or both."""
    if not node.words:
        return overview(node)
    if node.spec is None:
        return group(node)
    text = command(node.spec)
    return f"{text}\n{group(node)}" if node.children else text


def grouped(specs: Iterable[Spec]) -> dict[str, list[Spec]]:
    """Group commands by their headings."""
    specs_by_heading: dict[str, list[Spec]] = {}
    for spec in specs:
        specs_by_heading.setdefault(heading(spec), []).append(spec)
    return specs_by_heading


def heading(spec: Spec) -> str:
    if spec.operation is None:
        return _HEADINGS["local" if spec.local else "surface"]
    return _HEADINGS.get(spec.operation.group, spec.operation.group.capitalize())


def spelling(flag: Flag) -> str:
    """Return a flag with the placeholder of its value."""
    if flag.gives is Gives.FILE:
        return f"--{flag.name} FILE"
    return f"--{flag.name} {flag.parameter.placeholder}" if flag.takes_value else f"--{flag.name}"


def flag_explained(flag: Flag) -> str:
    match flag.gives:
        case Gives.FILE:
            return f"{flag.parameter.label}, from a file."
        case Gives.OFF:
            return f"The opposite of --{flag.parameter.flag}."
        case _:
            return explained(flag.parameter)


def explained(parameter: Parameter) -> str:
    """Return a parameter's description with its choices, aliases, syntax and default."""
    parts = [parameter.description]
    if parameter.choices and parameter.placeholder == parameter.label:
        parts.append(f"One of: {', '.join(parameter.choices)}.")
    if parameter.aliases:
        parts.append("Also " + ", ".join(f"{old} for {new}" for old, new in parameter.aliases.items()) + ".")
    if parameter.splits and "comma" not in parameter.description:
        parts.append("Separated by commas, or repeated.")
    if parameter.many and parameter.nullable:
        parts.append("'' for none.")
    if parameter.long or parameter.kind is Kind.FILE:
        parts.append("- reads standard input.")
    if shown := default(parameter):
        parts.append(f"(default {shown})")
    return " ".join(part for part in parts if part)


def default(parameter: Parameter) -> str:
    """Return the default of a parameter as text; empty without a default."""
    value = parameter.default
    if value in (None, "", False) or parameter.required:
        return ""
    return values.duration_text(value) if parameter.kind is Kind.DURATION else str(value)


def exit_line() -> str:
    return "Exit codes: " + ", ".join(f"{code} {meaning}" for code, meaning in exit_codes.MEANINGS.items()) + "."


def _spec_lines(specs: Iterable[Spec]) -> str:
    return aligned([[f"{PROGRAM} {spec.words}".strip(), spec.summary] for spec in specs], indent="  ")


def _common_flags() -> str:
    rows = [[f"--{name} {value}".strip(), description] for name, (value, description) in EVERYWHERE.items()]
    return aligned(rows, indent="  ")
