"""Parse arguments into a command and its written values. Pure: reads no file and calls no operation.

Flags may stand anywhere, also between the words of a command. An error names the nearest spelling and the usage.
"""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from maestro.core.errors import Invalid
from maestro.surfaces.cli import suggest, values
from maestro.surfaces.cli.grammar import (
    COMMON_FLAGS,
    PROGRAM,
    PROJECT,
    CommandNode,
    CommandSpec,
    Flag,
    FlagEffect,
    Grammar,
)
from maestro.surfaces.cli.parameters import Parameter, ValueKind

# A value may begin with a dash, like a line of Markdown. Only an argument of this form is a flag.
_FLAG = re.compile(r"--?[A-Za-z][\w-]*(=.*)?", re.DOTALL)
_SHORT = {"-h": "help", "-f": "follow", "-s": "subject", "-m": "message"}
_OTHER_NAMES = {"key": "idempotency-key"}


@dataclass
class ParsedCommand:
    """A command with its written values."""

    node: CommandNode
    rest: list[str]
    help: bool = False
    json: bool = False
    project: str | None = None
    key: str = ""
    texts: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)

    @property
    def spec(self) -> CommandSpec:
        assert self.node.spec is not None
        return self.node.spec

    def has_value(self, name: str) -> bool:
        return name in self.texts or name in self.files or name in self.switches


def decode_arguments(arguments: Iterable[bytes]) -> list[str]:
    """Decode the arguments as text."""
    try:
        return [argument.decode() for argument in arguments]
    except UnicodeDecodeError as error:
        shown = error.object.decode(errors="backslashreplace")
        raise Invalid(f"An argument is not valid UTF-8: {shown}") from None


def wants_json(arguments: Iterable[str]) -> bool:
    """Return whether the answer must be JSON. Also works for arguments that cannot be parsed."""
    return _has_any_flag(arguments, "--json")


def wants_help(arguments: Iterable[str]) -> bool:
    return _has_any_flag(arguments, "-h", "--help")


def parse_command(grammar: Grammar, arguments: list[str]) -> ParsedCommand:
    """Return the command of the arguments. Raise Invalid if they are no valid command."""
    walk = _Walk(grammar, arguments)
    parsed = ParsedCommand(walk.node, walk.words)
    _apply_common_flags(parsed, walk)
    if parsed.help:
        return parsed
    spec = _spec_at(grammar, walk.node, walk.words)
    if spec.local:
        return parsed  # the client reads the rest itself
    for name, value in walk.flags:
        _apply_flag(parsed, spec, name, value)
    if spec.rest is not None and walk.rest:
        parsed.texts[spec.rest.field] = walk.rest
    _apply_arguments(parsed, spec, walk.words)
    _check_complete(parsed, spec)
    return parsed


class _Walk:
    """One pass over the arguments: the node that the words reach, the remaining words, and the flags as written."""

    def __init__(self, grammar: Grammar, arguments: list[str]) -> None:
        self.grammar = grammar
        self.node = grammar.root
        self.words: list[str] = []
        self.rest: list[str] = []  # after `--`
        self.flags: list[tuple[str, str | None]] = []
        self.waiting = deque(arguments)
        while self.waiting:
            self._take_argument(self.waiting.popleft())
        if self.node.spec is None or self.node.spec.rest is None:
            self.words += self.rest
            self.rest = []

    def _take_argument(self, argument: str) -> None:
        if argument == "--":
            self.rest = list(self.waiting)
            self.waiting.clear()
        elif _FLAG.fullmatch(argument):
            self._take_flag(argument)
        elif not self.words and argument in self.node.children:
            self.node = self.node.children[argument]
        else:
            self.words.append(argument)

    def _take_flag(self, argument: str) -> None:
        written, equals, value = argument.partition("=")
        name = _SHORT.get(written, written.lstrip("-"))
        if not written.startswith("--") and written not in _SHORT:
            name = written  # an unknown short flag: the error shows its single dash
        name = _OTHER_NAMES.get(name, name)
        if equals or not self._takes_value(name):
            self.flags.append((name, value if equals else None))
            return
        following = self.waiting[0] if self.waiting else "--"
        if following == "--" or _FLAG.fullmatch(following):
            self.flags.append((name, None))
        else:
            self.flags.append((name, self.waiting.popleft()))

    def _takes_value(self, name: str) -> bool:
        if name in COMMON_FLAGS:
            return bool(COMMON_FLAGS[name][0])
        flag = self.node.spec.flags.get(name) if self.node.spec else None
        return flag.takes_value if flag else name in self.grammar.flags_with_value


def _has_any_flag(arguments: Iterable[str], *flags: str) -> bool:
    before = itertools.takewhile(lambda argument: argument != "--", arguments)
    return any(argument in flags for argument in before)


def _apply_common_flags(parsed: ParsedCommand, walk: _Walk) -> None:
    """Apply the common flags of all commands, and remove them from the walk."""
    seen: set[str] = set()
    for name, value in walk.flags:
        if name not in COMMON_FLAGS:
            continue
        if name in seen and name in ("project", "idempotency-key"):
            raise Invalid(f"--{name} is given twice.")
        seen.add(name)
        match name:
            case "json":
                parsed.json = values.read_switch(value or "true", name="--json")
            case "help":
                parsed.help = True
            case "project":
                parsed.project = _required_value(name, value)
            case "idempotency-key":
                parsed.key = _required_value(name, value)
    walk.flags = [(name, value) for name, value in walk.flags if name not in COMMON_FLAGS]


def _spec_at(grammar: Grammar, node: CommandNode, words: list[str]) -> CommandSpec:
    takes_words = node.spec is not None and (node.spec.positionals or not node.children)
    if words and (not takes_words or _is_misspelt(node, words[0])):
        raise unknown_command_error(grammar, node, words)
    if node.spec is None:
        subcommands = ", ".join(node.children)
        raise Invalid(
            f"`{PROGRAM} {node.words}` needs a subcommand: {subcommands}.",
            hint=f"usage: {PROGRAM} {node.words} COMMAND …",
            data={"choices": list(node.children)},
        )
    return node.spec


def _is_misspelt(node: CommandNode, word: str) -> bool:
    """Return whether a word in place of a task is a misspelt subcommand: a task reference is never a plain word."""
    expects_task = node.spec is not None and bool(node.spec.positionals) and node.spec.positionals[0].field == "task"
    return expects_task and word.isalpha() and bool(suggest.nearest_choices(word, _visible_words(node)))


def unknown_command_error(grammar: Grammar, node: CommandNode, words: list[str]) -> Invalid:
    """Return the error for words that are no command, with the nearest commands."""
    near = suggest.nearest_choices(words[0], _visible_words(node))
    found = [grammar.find_node([*node.words.split(), word, *words[1:]])[0].words for word in near]
    written = f"{node.words} {words[0]}".strip()
    if node is grammar.root:
        found = (_reversed_spellings(grammar, words) or [*_spellings_ending_with(grammar, words[0]), *found])[
            : suggest.nearest_max
        ]
    hint = f"usage: {PROGRAM} {node.words} {'|'.join(_visible_words(node))} …" if node.words else ""
    if len(found) == 1 and (spec := grammar.find_node(found[0].split())[0].spec):
        hint = f"usage: {spec.usage_line}"
    question = suggest.did_you_mean([f"{PROGRAM} {command}" for command in found])
    return Invalid(
        f"The command `{written}` does not exist{question or '.'}",
        hint=hint or f"`{PROGRAM} help` lists all commands.",
        data={"command": written, "nearest": found, "usage": hint.removeprefix("usage: ")},
    )


def _reversed_spellings(grammar: Grammar, words: list[str]) -> list[str]:
    """Return commands whose words were written in reverse order, such as `create task` for `task create`."""
    spelt = _command_spellings(grammar)
    return [spelling for spelling in spelt if spelling.split() == words[: len(spelling.split())][::-1]]


def _spellings_ending_with(grammar: Grammar, word: str) -> list[str]:
    """Return commands that end with the word, such as `task ready` for `ready`."""
    return [spelling for spelling in _command_spellings(grammar) if spelling.endswith(f" {word}")]


def _command_spellings(grammar: Grammar) -> list[str]:
    return [words for spec in grammar.specs for words in (spec.words, *spec.aliases) if words and not spec.hidden]


def _visible_words(node: CommandNode) -> list[str]:
    return [word for word in node.children if not word.startswith("__")]


def _apply_flag(parsed: ParsedCommand, spec: CommandSpec, name: str, value: str | None) -> None:
    flag = spec.flags.get(name)
    if flag is None:
        raise _unknown_flag_error(spec, name)
    parameter = flag.parameter
    if parsed.has_value(parameter.field) and not (parameter.is_list and flag.effect is FlagEffect.VALUE):
        raise _usage_error(spec, f"--{name} is given twice, or in two ways.")
    if flag.takes_value:
        value = value if value is not None else parameter.value_without_argument
        if value is None:
            raise _usage_error(
                spec,
                f"--{name} needs a value: {parameter.placeholder}. "
                f"Write a value that looks like a flag as --{name}=VALUE.",
            )
        _store_value(parsed, flag, value)
    else:
        on = values.read_switch(value or "true", name=f"--{name}")
        parsed.switches[parameter.field] = on is (flag.effect is FlagEffect.ON)


def _store_value(parsed: ParsedCommand, flag: Flag, value: str) -> None:
    if flag.effect is FlagEffect.FILE:
        parsed.files[flag.parameter.field] = value
    else:
        parsed.texts.setdefault(flag.parameter.field, []).append(value)


def _apply_arguments(parsed: ParsedCommand, spec: CommandSpec, words: list[str]) -> None:
    remaining = list(words)
    for parameter in spec.positionals:
        if not remaining:
            break
        taken = remaining if parameter.is_list else remaining[:1]
        remaining = remaining[len(taken) :]
        if parsed.has_value(parameter.field):
            raise _usage_error(spec, f"{parameter.label} is given twice: as an argument and with a flag.")
        parsed.texts[parameter.field] = list(taken)
    if remaining:
        raise _too_many_error(spec, remaining)


def _check_complete(parsed: ParsedCommand, spec: CommandSpec) -> None:
    for parameter in spec.positionals:
        if parameter.required and parameter.field != PROJECT and not parsed.has_value(parameter.field):
            # In a shell an unquoted # starts a comment, so the written argument may never have arrived.
            quoting = ' In a shell, #12 needs quotes: "#12".' if "#12" in parameter.description else ""
            raise _usage_error(spec, f"{parameter.label} is missing: {parameter.description}{quoting}")
    for flag in spec.options:
        if flag.parameter.required and not parsed.has_value(flag.parameter.field):
            raise _usage_error(spec, f"--{flag.name} {flag.parameter.placeholder} is missing.")


def _too_many_error(spec: CommandSpec, remaining: list[str]) -> Invalid:
    last: Parameter | None = spec.positionals[-1] if spec.positionals else None
    if last is None:
        return _usage_error(spec, f"`{spec.words}` takes no argument, but `{remaining[0]}` was given.")
    message = f"`{remaining[0]}` is one argument too many."
    if last.kind is ValueKind.TEXT:
        message += f' If it belongs to {last.label}, put {last.label} in quotes: "…".'
    return _usage_error(spec, message)


def _unknown_flag_error(spec: CommandSpec, name: str) -> Invalid:
    shown = name if name.startswith("-") else f"--{name}"
    command = spec.words or PROGRAM
    for parameter in spec.positionals:
        if name == parameter.flag:
            return _usage_error(
                spec,
                f"`{shown}` is not a flag of `{command}`: write {parameter.label} as an argument without a flag.",
            )
    usual = [flag.name for flag in spec.options]
    found = suggest.nearest_choices(name, [*usual, *COMMON_FLAGS]) or suggest.nearest_choices(name, spec.flags)
    question = suggest.did_you_mean(found, dashes="--")
    nearest = [f"--{near}" for near in found]
    return _usage_error(spec, f"`{shown}` is not a flag of `{command}`{question or '.'}", nearest=nearest)


def _usage_error(spec: CommandSpec, message: str, *, nearest: list[str] | None = None) -> Invalid:
    return Invalid(
        message, hint=f"usage: {spec.usage_line}", data={"usage": spec.usage_line, "nearest": nearest or []}
    )


def _required_value(name: str, value: str | None) -> str:
    if not value:
        raise Invalid(f"--{name} needs a value: {COMMON_FLAGS[name][0]}.")
    return value
