"""Find the project of a command: the named project, the caller's project, or the project of the directory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from maestro.core import ids
from maestro.core.errors import Invalid, MaestroError, NotFound
from maestro.domain.callers import Caller, may_call
from maestro.operations.app import App
from maestro.operations.projects import LOCATE, LocateProject, ProjectLocation
from maestro.surfaces.cli.grammar import PROJECT, CommandSpec
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.cli.parse import ParsedCommand

PROJECT_VARIABLE = "MAESTRO_PROJECT_ID"
_TASK = "task"


class LocatedProject(msgspec.Struct, frozen=True):
    """The project of a request, and notes about how the project was found."""

    project: str = ""
    notes: list[str] = []


async def find_project(
    app: App, parsed: ParsedCommand, fields: dict[str, Any], *, invocation: Invocation, caller: Caller
) -> LocatedProject:
    """Return the project of a request that has a project field."""
    spec = parsed.spec
    if named := named_project(parsed, fields, invocation):
        return LocatedProject(named)
    if spec.operation is None or not may_call(caller, spec.operation.name, spec.callers):
        # The server refuses the call, with a better error than a failed search for the project.
        return LocatedProject()
    if caller.project_id:
        return LocatedProject(caller.project_id if _must_name_project(spec) else "")
    try:
        location = await locate_project(app, invocation.directory, caller)
    except NotFound:
        if _must_name_project(spec):
            raise
        return LocatedProject()  # the service gives the better error
    except MaestroError:
        if has_only_absolute_refs(spec, fields):
            return LocatedProject()
        raise
    return LocatedProject(location.project.id, location.notes)


def named_project(parsed: ParsedCommand, fields: dict[str, Any], invocation: Invocation) -> str:
    """Return the project that the caller named: as an argument, with the flag, or in the environment."""
    argument = str(fields.get(PROJECT) or "")
    if argument and parsed.project is not None and argument != parsed.project:
        raise Invalid(f"The command names two projects: {argument} and {parsed.project}. Name one project.")
    return argument or parsed.project or invocation.environment.get(PROJECT_VARIABLE, "")


async def locate_project(app: App, directory: str, caller: Caller) -> ProjectLocation:
    """Return the project of a directory."""
    if not directory:
        raise NotFound("The current directory cannot be read.", hint="Name a project with --project.")
    location: ProjectLocation = await app.call(LOCATE, LocateProject(path=directory), caller=caller)
    return location


def has_only_absolute_refs(spec: CommandSpec, fields: dict[str, Any]) -> bool:
    """Return whether every task reference of the request names its project."""
    refs = list(_task_refs(spec, fields))
    return bool(refs) and all(ids.is_id(ref) or ref.find("#") > 0 for ref in refs)


def _task_refs(spec: CommandSpec, found: dict[str, Any]) -> Iterable[str]:
    parameters = [*spec.positionals, *(flag.parameter for flag in spec.options)]
    for parameter in parameters:
        value = found.get(parameter.field)
        if parameter.complete == _TASK and value:
            yield from value if isinstance(value, list) else [value]


def _must_name_project(spec: CommandSpec) -> bool:
    """Return whether the command must name a project, like `project show`. Task commands need not."""
    return any(parameter.field == PROJECT for parameter in spec.positionals)
