"""Which project a command is about: the one named, the caller's own, or that of the directory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from maestro.core import ids
from maestro.core.errors import Invalid, MaestroError, NotFound
from maestro.domain.callers import Caller, may_call
from maestro.operations.app import App
from maestro.operations.projects import LOCATE, LocateProject, Place
from maestro.surfaces.cli.frames import Invocation
from maestro.surfaces.cli.grammar import PROJECT, Spec
from maestro.surfaces.cli.parse import Parsed

VARIABLE = "MAESTRO_PROJECT_ID"
_DESCRIBED = "task"


class Where(msgspec.Struct, frozen=True):
    """A project for the request, and what there is to say about how it was found."""

    project: str = ""
    notes: list[str] = []


async def project_for(
    app: App, parsed: Parsed, found: dict[str, Any], *, invocation: Invocation, caller: Caller
) -> Where:
    """The project of a request that wants one."""
    spec = parsed.spec
    if named := named_project(parsed, found, invocation):
        return Where(named)
    if spec.operation is None or not may_call(caller, spec.operation.name, spec.callers):
        return Where()  # the server refuses, and says why better than a search for the project would
    if caller.project_id:
        return Where(caller.project_id if _must_name(spec) else "")
    try:
        place = await locate(app, invocation.directory, caller)
    except NotFound:
        if _must_name(spec):
            raise
        return Where()  # the service knows best what to say
    except MaestroError:
        if names_absolutely(spec, found):
            return Where()
        raise
    return Where(place.project.id, place.notes)


def named_project(parsed: Parsed, found: dict[str, Any], invocation: Invocation) -> str:
    """The project that the caller named: as an argument, with the flag, or in the environment."""
    argument = str(found.get(PROJECT) or "")
    if argument and parsed.project is not None and argument != parsed.project:
        raise Invalid(f"Two projects are named: {argument} and {parsed.project}.")
    return argument or parsed.project or invocation.environment.get(VARIABLE, "")


async def locate(app: App, directory: str, caller: Caller) -> Place:
    """The project of a directory."""
    if not directory:
        raise NotFound("The current directory cannot be read.", hint="Name a project with --project.")
    place: Place = await app.call(LOCATE, LocateProject(path=directory), caller=caller)
    return place


def names_absolutely(spec: Spec, found: dict[str, Any]) -> bool:
    """Whether every task that the request names says itself which project it is of."""
    refs = list(_refs(spec, found))
    return bool(refs) and all(ids.is_id(ref) or ref.find("#") > 0 for ref in refs)


def _refs(spec: Spec, found: dict[str, Any]) -> Iterable[str]:
    parameters = [*spec.positionals, *(flag.parameter for flag in spec.options)]
    for parameter in parameters:
        value = found.get(parameter.field)
        if parameter.complete == _DESCRIBED and value:
            yield from value if isinstance(value, list) else [value]


def _must_name(spec: Spec) -> bool:
    """`project show` is about a project by name; a task's command may leave it to the server."""
    return any(parameter.field == PROJECT for parameter in spec.positionals)
