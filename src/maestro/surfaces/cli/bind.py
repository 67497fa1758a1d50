"""Values as written, to a request. The only part of reading a command that asks the client for more."""

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
from maestro.surfaces.cli.grammar import Spec
from maestro.surfaces.cli.parameters import Kind, Parameter
from maestro.surfaces.cli.parse import Parsed

STDIN = "-"

_PLACE = re.compile(r"(?P<said>.*) - at `\$\.(?P<field>\w+)(?P<below>[^`]*)`", re.DOTALL)
_LENGTH = re.compile(r"Expected `(?P<type>\w+)` of length (?P<sign>[<>])= (?P<bound>\d+)")
_BOUND = re.compile(r"Expected `int` (?P<sign>[<>])= (?P<bound>-?\d+)")
_UNITS = {"str": "characters", "bytes": "bytes", "array": "items"}


class Values:
    """Gathers what a request needs, from the arguments and from the client."""

    def __init__(
        self, parsed: Parsed, *, channel: Channel, directory: str, read_file: Callable[[str], Awaitable[bytes]]
    ) -> None:
        """`read_file` reads a file of the client's that the caller may read, or refuses."""
        self.parsed = parsed
        self.channel = channel
        self.directory = directory
        self.read_file = read_file
        self.read_stdin = False

    async def gather(self) -> dict[str, Any]:
        """The request's fields, as far as they were given."""
        spec, parsed = self.parsed.spec, self.parsed
        found: dict[str, Any] = dict(parsed.switches)
        # What the arguments themselves get wrong is said before the client is asked for anything.
        remote: list[Parameter] = []
        for parameter in _of(spec):
            if parameter.field in parsed.files or _is_remote(parameter, parsed.texts.get(parameter.field, [])):
                remote.append(parameter)
            elif parameter.field in parsed.texts:
                found[parameter.field] = self._written(parameter, parsed.texts[parameter.field])
        for parameter in remote:
            found[parameter.field] = await self._fetched(parameter, found)
        for parameter in spec.here:
            if self.directory:
                found[parameter.field] = self.directory
            elif parameter.required:
                raise Invalid("The current directory cannot be read, or its name is not valid UTF-8.")
        return found

    def _written(self, parameter: Parameter, texts: list[str]) -> object:
        name = name_of(self.parsed.spec, parameter)
        try:
            if parameter.kind is Kind.PATH:
                paths = [self._absolute(text) for text in texts]
                return paths if parameter.many else paths[0]
            if parameter.many:
                return values.items(texts, parameter, name=name)
            return values.read(texts[0], parameter, name=name)
        except Invalid as error:
            raise with_usage(error, self.parsed.spec) from None

    async def _fetched(self, parameter: Parameter, found: dict[str, Any]) -> object:
        """A value that stands in the client's files or standard input."""
        if parameter.kind is not Kind.FILE:
            path = self.parsed.files.get(parameter.field, STDIN)
            return _as_text(await self._content(path), name=path)
        paths = self.parsed.texts[parameter.field]
        if parameter.many:  # each with its own name
            return [
                {parameter.name_field: PurePosixPath(path).name, "content": await self._content(path)}
                for path in paths
            ]
        if parameter.name_field and not found.get(parameter.name_field) and paths[0] != STDIN:
            found[parameter.name_field] = PurePosixPath(paths[0]).name
        return await self._content(paths[0])

    async def _content(self, path: str) -> bytes:
        if path != STDIN:
            return await self.read_file(path)
        if self.read_stdin:
            raise Invalid("Standard input can be read only once.")
        self.read_stdin = True
        return await self.channel.stdin()

    def _absolute(self, path: str) -> str:
        if not path.startswith("/") and not self.directory:
            raise Invalid(f"The current directory cannot be read, so `{path}` must be an absolute path.")
        return str(PurePosixPath(self.directory, path)) if path else path


def request(spec: Spec, found: dict[str, Any]) -> msgspec.Struct:
    """The request, checked against its declaration."""
    try:
        return msgspec.convert(found, spec.request, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise _explained(str(error), spec) from None


def name_of(spec: Spec, parameter: Parameter) -> str:
    """How the caller wrote it."""
    return parameter.label if parameter in spec.positionals else f"--{parameter.flag}"


def with_usage(error: Invalid, spec: Spec) -> Invalid:
    """The same error, with how the command is written."""
    usage = f"usage: {spec.usage}"
    hint = f"{error.hint}\n{usage}" if error.hint else usage
    return type(error)(error.message, hint=hint, data={**error.data, "usage": spec.usage})


def key(text: str) -> str:
    """An idempotency key, within its limit."""
    if len(text) > limits.idempotency_key_chars_max:
        raise TooLarge(f"--idempotency-key is longer than {limits.idempotency_key_chars_max} characters.")
    return text


def _of(spec: Spec) -> Iterable[Parameter]:
    yield from spec.positionals
    yield from (flag.parameter for flag in spec.options)
    if spec.rest is not None:
        yield spec.rest


def _is_remote(parameter: Parameter, texts: list[str]) -> bool:
    return bool(texts) and (parameter.kind is Kind.FILE or (parameter.long and texts == [STDIN]))


def _as_text(content: bytes, *, name: str) -> str:
    source = "Standard input" if name == STDIN else name
    try:
        # A file ends with a newline that is no part of what it says.
        return content.decode().rstrip("\n")
    except UnicodeDecodeError:
        raise Invalid(f"{source} is not valid UTF-8 text.") from None


def _explained(said: str, spec: Spec) -> Invalid:
    """A validation error in the caller's words."""
    place = _PLACE.fullmatch(said)
    parameter = next((one for one in _of(spec) if place and one.field == place["field"]), None)
    if place is None or parameter is None:
        return with_usage(Invalid(said), spec)
    name = name_of(spec, parameter)
    data = {"field": parameter.field}
    if bound := _LENGTH.match(place["said"]):
        return with_usage(_wrong_length(name, bound, data), spec)
    if bound := _BOUND.match(place["said"]):
        least = "at least" if bound["sign"] == ">" else "at most"
        is_time = parameter.kind is Kind.DURATION
        shown = values.duration_text(int(bound["bound"])) if is_time else bound["bound"]
        return with_usage(Invalid(f"{name} must be {least} {shown}.", data=data), spec)
    return with_usage(Invalid(f"{name} is not valid. {parameter.description}".strip(), data=data), spec)


def _wrong_length(name: str, bound: re.Match[str], data: dict[str, Any]) -> Invalid:
    unit = _UNITS.get(bound["type"], "")
    if bound["sign"] == "<":
        return TooLarge(f"{name} may have at most {bound['bound']} {unit}.", data=data)
    if bound["bound"] == "1":
        return Invalid(f"{name} is empty.", data=data)
    return Invalid(f"{name} must have at least {bound['bound']} {unit}.", data=data)
