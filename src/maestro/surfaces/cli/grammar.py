"""The grammar of commands, built once from operations and built-in commands, for parsing, help and completion."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from maestro.domain.callers import Callers
from maestro.operations.base import Operation
from maestro.surfaces.cli import local_commands
from maestro.surfaces.cli.parameters import Parameter, ValueKind, parameters_of

PROGRAM = "maestro"
PROJECT = "project"
# The flags of every command: name, placeholder of the value ("" without a value), description.
COMMON_FLAGS = {
    "json": ("", "Answer in JSON."),
    "project": ("NAME", "The project by name, key or id. The default is the project of the directory."),
    "idempotency-key": (
        "KEY",
        "A repeated call with the same key returns the first result and has no second effect.",
    ),
    "help": ("", "Show this help."),
}
# Hidden fields that the caller's directory fills.
_HERE = ("path", "directory")


class FlagEffect(enum.Enum):
    """The effect of a flag on its parameter."""

    VALUE = "value"
    FILE = "file"  # the file holds the value
    ON = "on"
    OFF = "off"


@dataclass(frozen=True)
class Flag:
    """A spelling of a parameter as a flag."""

    name: str
    parameter: Parameter
    effect: FlagEffect

    @property
    def takes_value(self) -> bool:
        return self.effect in (FlagEffect.VALUE, FlagEffect.FILE)


@dataclass(frozen=True, eq=False)
class CommandSpec:
    """One command."""

    words: str
    request: type[msgspec.Struct]
    summary: str
    callers: Callers
    positionals: tuple[Parameter, ...]
    flags: Mapping[str, Flag]
    has_project: bool
    directory_fields: tuple[Parameter, ...]  # fields that the client's directory fills
    aliases: tuple[str, ...] = ()
    rest: Parameter | None = None  # takes all arguments after `--`
    examples: tuple[str, ...] = ()
    operation: Operation | None = None
    hidden: bool = False
    local: bool = False

    @cached_property
    def usage_line(self) -> str:
        """Return the usage line of the command."""
        parts = [PROGRAM, self.words, *map(_argument_usage, self.positionals), *map(_option_usage, self.options)]
        if self.rest is not None:
            parts.append(f"[-- {self.rest.placeholder} …]")
        return " ".join(part for part in parts if part)

    @cached_property
    def options(self) -> tuple[Flag, ...]:
        """Return the first spelling of each flag, required flags first."""
        firsts = [
            flag
            for flag in self.flags.values()
            if flag.effect in (FlagEffect.VALUE, FlagEffect.ON) and flag.name != flag.parameter.other_flag
        ]
        return tuple(sorted(firsts, key=lambda flag: not flag.parameter.required))


@dataclass(eq=False)
class CommandNode:
    """A node in the tree of command words: a group, a command, or both."""

    words: str = ""
    spec: CommandSpec | None = None
    children: dict[str, CommandNode] = field(default_factory=dict)

    def visible_specs(self) -> Iterator[CommandSpec]:
        """Yield the visible commands at and below this node, each once, in the order of declaration."""
        found: dict[int, CommandSpec] = {}
        waiting = [self]
        while waiting:
            node = waiting.pop()
            if node.spec is not None and not node.spec.hidden:
                found.setdefault(id(node.spec), node.spec)
            waiting.extend(reversed(node.children.values()))
        yield from found.values()


class Grammar:
    """All commands, by their words."""

    def __init__(self, registry: Mapping[str, Operation]) -> None:
        self.root = CommandNode()
        self.specs: list[CommandSpec] = []
        for operation in registry.values():
            if operation.command is not None:
                self._add_spec(_spec_of_operation(operation))
        for command in local_commands.BUILTIN_COMMANDS:
            self._add_spec(_spec_of_builtin(command))
        # Before the command is known, a flag takes a value if it takes a value in any command.
        self.flags_with_value = {name for spec in self.specs for name, flag in spec.flags.items() if flag.takes_value}

    def find_node(self, words: list[str]) -> tuple[CommandNode, list[str]]:
        """Return the deepest node on the path of the words, and the remaining words."""
        node = self.root
        for index, word in enumerate(words):
            if word not in node.children:
                return node, words[index:]
            node = node.children[word]
        return node, []

    def _add_spec(self, spec: CommandSpec) -> None:
        self.specs.append(spec)
        for words in (spec.words, *spec.aliases):
            node = self.root
            for word in words.split():
                below = f"{node.words} {word}".strip()
                node = node.children.setdefault(word, CommandNode(below))
            assert node.spec is None, f"two commands are called `{words}`"
            node.spec = spec


def _spec_of_operation(operation: Operation) -> CommandSpec:
    command = operation.command
    assert command is not None
    fields = parameters_of(operation.request)
    arguments = tuple(fields[name] for name in command.positional)
    rest = fields.keys() - {*command.positional, *command.hidden, command.rest_field, PROJECT}
    return CommandSpec(
        words=command.command_path,
        request=operation.request,
        summary=operation.summary,
        callers=operation.callers,
        positionals=arguments,
        flags=_flags_by_name(arguments, [found for found in fields.values() if found.field in rest]),
        has_project=PROJECT in fields,
        directory_fields=tuple(fields[name] for name in command.hidden if name in _HERE),
        aliases=command.aliases,
        rest=fields[command.rest_field] if command.rest_field else None,
        examples=operation.examples,
        operation=operation,
    )


def _spec_of_builtin(command: local_commands.BuiltinCommand) -> CommandSpec:
    fields = parameters_of(command.request)
    arguments = tuple(fields[name] for name in command.positional)
    return CommandSpec(
        words=command.words,
        request=command.request,
        summary=command.summary,
        callers=command.callers,
        positionals=arguments,
        flags=_flags_by_name(
            arguments, [found for found in fields.values() if found.field not in command.positional]
        ),
        has_project=False,
        directory_fields=(),
        examples=command.examples,
        hidden=command.hidden,
        local=command.local,
    )


def _flags_by_name(arguments: tuple[Parameter, ...], options: list[Parameter]) -> dict[str, Flag]:
    """Return every spelling of every flag. Long text also has a `-file` flag, even as an argument."""
    flags = [flag for parameter in options for flag in _flag_spellings(parameter)]
    flags += [_file_flag(parameter) for parameter in arguments if parameter.is_long_text]
    by_name = {flag.name: flag for flag in flags}
    assert len(by_name) == len(flags), f"two flags are spelt alike: {[flag.name for flag in flags]}"
    assert not by_name.keys() & COMMON_FLAGS.keys(), f"a flag has the name of a common flag: {list(COMMON_FLAGS)}"
    return by_name


def _flag_spellings(parameter: Parameter) -> Iterator[Flag]:
    switch = parameter.kind is ValueKind.SWITCH
    yield Flag(parameter.flag, parameter, FlagEffect.ON if switch else FlagEffect.VALUE)
    if parameter.other_flag:
        yield Flag(parameter.other_flag, parameter, FlagEffect.VALUE)
    if switch and parameter.nullable:
        yield Flag(f"no-{parameter.flag}", parameter, FlagEffect.OFF)
    if parameter.is_long_text:
        yield _file_flag(parameter)


def _file_flag(parameter: Parameter) -> Flag:
    return Flag(f"{parameter.flag}-file", parameter, FlagEffect.FILE)


def _argument_usage(parameter: Parameter) -> str:
    label = parameter.placeholder + ("…" if parameter.is_list else "")
    needed = parameter.required and parameter.field != PROJECT
    return label if needed else f"[{label}]"


def _option_usage(flag: Flag) -> str:
    parameter = flag.parameter
    value = (
        f" [{parameter.placeholder}]" if parameter.value_without_argument is not None else f" {parameter.placeholder}"
    )
    text = f"--{flag.name}" + (value if flag.takes_value else "")
    if parameter.kind is ValueKind.SWITCH and parameter.nullable:
        text = f"--[no-]{flag.name}"
    text = text if parameter.required else f"[{text}]"
    return text + ("…" if parameter.is_list and not parameter.is_comma_separated else "")
