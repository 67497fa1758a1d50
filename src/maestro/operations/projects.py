"""What can be done with projects."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro import limits
from maestro.domain.callers import Callers
from maestro.domain.projects import Inbound, Project, Workspace
from maestro.errors import Ambiguous, Conflict, NameTaken, NotFound
from maestro.operations import fields
from maestro.operations.base import GET, PATCH, POST, Command, Cursor, Effect, Operation, Request


class InitProject(Request, frozen=True, kw_only=True):
    path: fields.Path
    name: fields.Name | None = None


class LocateProject(Request, frozen=True, kw_only=True):
    path: fields.Path


class ListProjects(Request, frozen=True, kw_only=True):
    limit: fields.Limit = limits.page_items_default
    cursor: fields.PageCursor = ""


class OneProject(Request, frozen=True, kw_only=True):
    project: fields.Project


class EditProject(OneProject, frozen=True, kw_only=True):
    name: fields.Name | None = None
    stages: (
        Annotated[
            list[fields.Stage],
            Meta(max_length=limits.stages_max, description="The stages in order, separated by commas."),
        ]
        | None
    ) = None
    inbound: Annotated[Inbound, Meta(description="Who may write to it from other projects.")] | None = None
    replies_reopen: (
        Annotated[bool, Meta(description="Whether the reply of whoever opened a closed issue opens it again.")] | None
    ) = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a directory belongs."""

    project: Project
    workspace: Workspace
    notes: list[str] = []


class ProjectList(Cursor, frozen=True, kw_only=True):
    projects: list[Project]


class ProjectDetail(Project, frozen=True, kw_only=True):
    """A project with its checkouts and how its tasks stand."""

    workspaces: list[Workspace]
    tasks: dict[str, int]


INIT = Operation(
    "project.init",
    InitProject,
    Place,
    callers=Callers.KNOWN,
    http=POST("/api/projects"),
    summary="Register the project of a directory.",
    effect=Effect.ACTION,
    command=Command("init", hidden=("path",)),
    examples=("maestro init", "maestro init --name vc"),
    errors=(NotFound, NameTaken, Conflict),
)
LOCATE = Operation(
    "project.locate",
    LocateProject,
    Place,
    callers=Callers.KNOWN,
    http=GET("/api/locate"),
    summary="Tell which project a directory belongs to; a git checkout is registered on the way.",
    effect=Effect.ACTION,
    errors=(NotFound, Conflict),
)
LIST = Operation(
    "project.list",
    ListProjects,
    ProjectList,
    callers=Callers.KNOWN,
    http=GET("/api/projects"),
    summary="List the projects this server knows.",
    effect=Effect.READ,
    command=Command("project list"),
    examples=("maestro project list",),
)
SHOW = Operation(
    "project.show",
    OneProject,
    ProjectDetail,
    callers=Callers.KNOWN,
    http=GET("/api/projects/{project}"),
    summary="Show a project, its checkouts and how its tasks stand.",
    effect=Effect.SCAN,
    command=Command("project show", ("project",)),
    examples=("maestro project show", "maestro project show vc"),
    errors=(NotFound, Ambiguous),
)
EDIT = Operation(
    "project.edit",
    EditProject,
    Project,
    callers=Callers.PERSON,
    http=PATCH("/api/projects/{project}"),
    summary="Change a project's name or stages, or what others may do in it.",
    effect=Effect.WRITE,
    command=Command("project edit", ("project",)),
    examples=("maestro project edit vc --stages plan,build,ship", "maestro project edit vc --inbound known"),
    errors=(NotFound, NameTaken, Conflict),
)

ALL = (INIT, LOCATE, LIST, SHOW, EDIT)
