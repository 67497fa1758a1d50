"""Help, from the grammar alone: the overview, a group, one command."""

from __future__ import annotations

from collections.abc import Iterable

from maestro.surfaces.cli import exit_codes, values
from maestro.surfaces.cli.grammar import EVERYWHERE, PROGRAM, Flag, Gives, Node, Spec
from maestro.surfaces.cli.parameters import Kind, Parameter
from maestro.surfaces.cli.render.style import aligned, paint

# Which heading an operation's group, or the surface's own command, stands under. Others get their own.
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
    "surface": "Finding out",
}
_SEPARATE = (
    "Lists are separated by commas or repeated. Times read 500ms, 30s, 5m, 2h; a bare number is milliseconds.\n"
    "Long text also comes from a file (--NAME-file) or, with `-`, from standard input."
)


def overview(root: Node) -> str:
    """Every command, one line each."""
    parts = [
        f"usage: {PROGRAM} COMMAND [ARGUMENT…] [--FLAG…]\n\n",
        "Maestro is the coordination layer for coding agents.\n",
    ]
    for heading, specs in grouped(root.offered()).items():
        parts.append(f"\n{paint(heading, 'bold')}\n{_lines(specs)}")
    parts.append(f"\n{paint('Every command', 'bold')}\n{_everywhere()}")
    parts.append(f"\n{_SEPARATE}\n`{PROGRAM} help COMMAND` says how one is written. {exit_line()}\n")
    return "".join(parts)


def group(node: Node) -> str:
    """The commands below some words."""
    specs = list(node.offered())
    return (
        f"usage: {PROGRAM} {node.words} COMMAND …\n\n{_lines(specs)}\n"
        f"`{PROGRAM} help {node.words} COMMAND` says how one is written.\n"
    )


def command(spec: Spec) -> str:
    """One command, whole."""
    parts = [f"usage: {spec.usage}\n\n{spec.summary}\n"]
    if spec.aliases:
        parts.append("\nalso: " + ", ".join(f"{PROGRAM} {words}" for words in spec.aliases) + "\n")
    if spec.positionals:
        rows = [[argument.placeholder, explained(argument)] for argument in spec.positionals]
        parts.append(f"\n{paint('arguments', 'bold')}\n{aligned(rows, indent='  ')}")
    if spec.flags:
        rows = [[spelling(flag), flag_explained(flag)] for flag in spec.flags.values()]
        parts.append(f"\n{paint('flags', 'bold')}\n{aligned(rows, indent='  ')}")
    parts.append(f"\n{paint('every command', 'bold')}\n{_everywhere()}")
    if spec.examples:
        lines = "".join(f"  {example}\n" for example in spec.examples)
        parts.append(f"\n{paint('examples', 'bold')}\n{lines}")
    parts.append(f"\n{exit_line()}\n")
    return "".join(parts)


def about(node: Node) -> str:
    """Help for wherever some words lead."""
    if not node.words:
        return overview(node)
    if node.spec is None:
        return group(node)
    text = command(node.spec)
    return f"{text}\n{group(node)}" if node.children else text


def grouped(specs: Iterable[Spec]) -> dict[str, list[Spec]]:
    """Commands below their headings."""
    found: dict[str, list[Spec]] = {}
    for spec in specs:
        found.setdefault(heading(spec), []).append(spec)
    return found


def heading(spec: Spec) -> str:
    if spec.operation is None:
        return _HEADINGS["local" if spec.local else "surface"]
    return _HEADINGS.get(spec.operation.group, spec.operation.group.capitalize())


def spelling(flag: Flag) -> str:
    """A flag with what stands for its value."""
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
    """A parameter's description with all that a caller may want to know of it."""
    said = [parameter.description]
    if parameter.choices and parameter.placeholder == parameter.label:
        said.append(f"One of: {', '.join(parameter.choices)}.")
    if parameter.aliases:
        said.append("Also " + ", ".join(f"{old} for {new}" for old, new in parameter.aliases.items()) + ".")
    if parameter.splits and "comma" not in parameter.description:
        said.append("Separated by commas, or repeated.")
    if parameter.many and parameter.nullable:
        said.append("'' for none.")
    if parameter.long or parameter.kind is Kind.FILE:
        said.append("- reads standard input.")
    if shown := default(parameter):
        said.append(f"(default {shown})")
    return " ".join(part for part in said if part)


def default(parameter: Parameter) -> str:
    """What a parameter is when it is not given; empty if there is nothing to say."""
    value = parameter.default
    if value in (None, "", False) or parameter.required:
        return ""
    return values.duration_text(value) if parameter.kind is Kind.DURATION else str(value)


def exit_line() -> str:
    return "Exit codes: " + ", ".join(f"{code} {said}" for code, said in exit_codes.MEANINGS.items()) + "."


def _lines(specs: Iterable[Spec]) -> str:
    return aligned([[f"{PROGRAM} {spec.words}".strip(), spec.summary] for spec in specs], indent="  ")


def _everywhere() -> str:
    rows = [[f"--{name} {value}".strip(), said] for name, (value, said) in EVERYWHERE.items()]
    return aligned(rows, indent="  ")
