"""Turn the written values of a command into a request. Reads the client's files and standard input where needed."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from pathlib import PurePosixPath
from typing import Any

import msgspec

from maestro.core import limits
from maestro.core.errors import Invalid, TooLarge
from maestro.surfaces.cli import values
from maestro.surfaces.cli.channel import Channel
from maestro.surfaces.cli.grammar import CommandSpec
from maestro.surfaces.cli.parameters import Parameter, ValueKind
from maestro.surfaces.cli.parse import ParsedCommand

STDIN = "-"

_FIELD_ERROR = re.compile(r"(?P<message>.*) - at `\$\.(?P<field>\w+)(?P<below>[^`]*)`", re.DOTALL)
_LENGTH = re.compile(r"Expected `(?P<type>\w+)` of length (?P<sign>[<>])= (?P<bound>\d+)")
_BOUND = re.compile(r"Expected `int` (?P<sign>[<>])= (?P<bound>-?\d+)")
_UNITS = {"str": "characters", "bytes": "bytes", "array": "items"}


class ValueCollector:
    """Collects the fields of a request from the arguments and from the client."""

    def __init__(
        self, parsed: ParsedCommand, *, channel: Channel, directory: str, read_file: Callable[[str], Awaitable[bytes]]
    ) -> None:
        """Keep the sources. `read_file` reads a file of the client, or refuses if the caller may not read it."""
        self.parsed = parsed
        self.channel = channel
        self.directory = directory
        self.read_file = read_file
        self.read_stdin = False

    async def collect_fields(self) -> dict[str, Any]:
        """Return the given fields of the request."""
        spec, parsed = self.parsed.spec, self.parsed
        fields: dict[str, Any] = dict(parsed.switches)
        # Errors in the arguments are reported before the client is asked for files.
        remote: list[Parameter] = []
        for parameter in _all_parameters(spec):
            if parameter.field in parsed.files or _is_remote(parameter, parsed.texts.get(parameter.field, [])):
                remote.append(parameter)
            elif parameter.field in parsed.texts:
                fields[parameter.field] = self._read_texts(parameter, parsed.texts[parameter.field])
        for parameter in remote:
            fields[parameter.field] = await self._fetch_value(parameter, fields)
        for parameter in spec.directory_fields:
            if self.directory:
                fields[parameter.field] = self.directory
            elif parameter.required:
                raise Invalid("The current directory cannot be read, or its name is not valid UTF-8.")
        return fields

    def _read_texts(self, parameter: Parameter, texts: list[str]) -> object:
        name = parameter_name(self.parsed.spec, parameter)
        try:
            if parameter.kind is ValueKind.PATH:
                paths = [self._absolute_path(text) for text in texts]
                return paths if parameter.is_list else paths[0]
            if parameter.is_list:
                return values.read_list(texts, parameter, name=name)
            return values.read_value(texts[0], parameter, name=name)
        except Invalid as error:
            raise add_usage(error, self.parsed.spec) from None

    async def _fetch_value(self, parameter: Parameter, fields: dict[str, Any]) -> object:
        """Return a value from the client's files or standard input."""
        if parameter.kind is not ValueKind.FILE:
            path = self.parsed.files.get(parameter.field, STDIN)
            return _as_text(await self._read_content(path), name=path)
        paths = self.parsed.texts[parameter.field]
        if parameter.is_list:  # each with its own name
            return [
                {parameter.name_field: PurePosixPath(path).name, "content": await self._read_content(path)}
                for path in paths
            ]
        if parameter.name_field and not fields.get(parameter.name_field) and paths[0] != STDIN:
            fields[parameter.name_field] = PurePosixPath(paths[0]).name
        return await self._read_content(paths[0])

    async def _read_content(self, path: str) -> bytes:
        if path != STDIN:
            return await self.read_file(path)
        if self.read_stdin:
            raise Invalid("Standard input can be read only once.")
        self.read_stdin = True
        return await self.channel.read_stdin()

    def _absolute_path(self, path: str) -> str:
        if not path.startswith("/") and not self.directory:
            raise Invalid(f"The current directory cannot be read, so `{path}` must be an absolute path.")
        return str(PurePosixPath(self.directory, path)) if path else path


def build_request(spec: CommandSpec, fields: dict[str, Any]) -> msgspec.Struct:
    """Return the request, checked against its declaration."""
    try:
        return msgspec.convert(fields, spec.request, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise _explain_error(str(error), spec) from None


def parameter_name(spec: CommandSpec, parameter: Parameter) -> str:
    """Return the name of a parameter as the caller writes it."""
    return parameter.label if parameter in spec.positionals else f"--{parameter.flag}"


def add_usage(error: Invalid, spec: CommandSpec) -> Invalid:
    """Return the same error with the usage line of the command."""
    usage = f"usage: {spec.usage_line}"
    hint = f"{error.hint}\n{usage}" if error.hint else usage
    return type(error)(error.message, hint=hint, data={**error.data, "usage": spec.usage_line})


def check_idempotency_key(text: str) -> str:
    """Return the idempotency key. Refuse a key that is too long."""
    if len(text) > limits.idempotency_key_chars_max:
        raise TooLarge(f"--idempotency-key is longer than {limits.idempotency_key_chars_max} characters.")
    return text


def _all_parameters(spec: CommandSpec) -> Iterable[Parameter]:
    yield from spec.positionals
    yield from (flag.parameter for flag in spec.options)
    if spec.rest is not None:
        yield spec.rest


def _is_remote(parameter: Parameter, texts: list[str]) -> bool:
    return bool(texts) and (parameter.kind is ValueKind.FILE or (parameter.is_long_text and texts == [STDIN]))


def _as_text(content: bytes, *, name: str) -> str:
    source = "Standard input" if name == STDIN else name
    try:
        # The newline at the end of a file is not part of its text.
        return content.decode().rstrip("\n")
    except UnicodeDecodeError:
        raise Invalid(f"{source} is not valid UTF-8 text.") from None


def _explain_error(text: str, spec: CommandSpec) -> Invalid:
    """Return a validation error that names the parameter as the caller writes it."""
    match = _FIELD_ERROR.fullmatch(text)
    parameter = next((each for each in _all_parameters(spec) if match and each.field == match["field"]), None)
    if match is None or parameter is None:
        return add_usage(Invalid(text), spec)
    name = parameter_name(spec, parameter)
    data = {"field": parameter.field}
    if bound := _LENGTH.match(match["message"]):
        return add_usage(_wrong_length_error(name, bound, data), spec)
    if bound := _BOUND.match(match["message"]):
        bound_text = "at least" if bound["sign"] == ">" else "at most"
        is_time = parameter.kind is ValueKind.DURATION
        shown = values.format_duration(int(bound["bound"])) if is_time else bound["bound"]
        return add_usage(Invalid(f"{name} must be {bound_text} {shown}.", data=data), spec)
    return add_usage(Invalid(f"{name} is not valid. {parameter.description}".strip(), data=data), spec)


def _wrong_length_error(name: str, bound: re.Match[str], data: dict[str, Any]) -> Invalid:
    unit = _UNITS.get(bound["type"], "")
    if bound["sign"] == "<":
        return TooLarge(f"{name} may have at most {bound['bound']} {unit}.", data=data)
    if bound["bound"] == "1":
        return Invalid(f"{name} is empty.", data=data)
    return Invalid(f"{name} must have at least {bound['bound']} {unit}.", data=data)
