"""What can be done with projects."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Ambiguous, Conflict, NameTaken, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.links import Link
from maestro.domain.projects import Inbound, Project, Workspace
from maestro.domain.sandboxes import Mode
from maestro.domain.trackers import Kind
from maestro.operations import fields
from maestro.operations.base import GET, PATCH, POST, Command, Cursor, Effect, InProject, Operation, Request


class InitProject(Request, frozen=True, kw_only=True):
    path: fields.Path
    name: fields.Name | None = None


class LocateProject(Request, frozen=True, kw_only=True):
    path: fields.Path


class ListProjects(InProject, frozen=True, kw_only=True):
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
    sandbox: Annotated[Mode, Meta(description="Where its gates and set-up commands run.")] | None = None
    caches: (
        Annotated[
            list[fields.Path],
            Meta(
                max_length=limits.sandbox_caches_max,
                description="A folder that can be read in the sandbox; all that are said replace the ones before.",
                extra={"repeat": True, "flag": "cache", "label": "FOLDER"},
            ),
        ]
        | None
    ) = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a directory belongs."""

    project: Project
    workspace: Workspace
    notes: list[str] = []


class LinkProject(Request, frozen=True, kw_only=True):
    name: Annotated[fields.Name, Meta(description="What it is called here.")]
    remote: Annotated[
        str,
        Meta(max_length=2000, pattern=fields.LINE_OR_EMPTY, description="Its git remote.", extra={"label": "URL"}),
    ] = ""
    path: Annotated[
        str, Meta(max_length=2000, pattern=fields.TEXT, description="A checkout of it.", extra={"label": "FOLDER"})
    ] = ""
    local: Annotated[bool, Meta(description="For this checkout only, in a file that is not committed.")] = False
    directory: Annotated[fields.Path, Meta(description="A directory in the checkout that is to know it.")]


class UnlinkProject(Request, frozen=True, kw_only=True):
    name: Annotated[fields.Name, Meta(description="What it is called here.")]
    local: Annotated[bool, Meta(description="Only from the file that is not committed.")] = False
    directory: Annotated[fields.Path, Meta(description="A directory in the checkout that knows it.")]


class Linked(msgspec.Struct, frozen=True, kw_only=True):
    """What other projects are called in a checkout, and where each answer came from."""

    links: list[Link]
    notes: list[str] = []


class ProjectList(Cursor, frozen=True, kw_only=True):
    projects: list[Project]
    links: list[Link] = []  # what the project at hand calls them


class ProjectDetail(Project, frozen=True, kw_only=True):
    """A project with its checkouts and how its tasks stand."""

    workspaces: list[Workspace]
    tasks: dict[str, int]
    links: list[Link] = []  # what its checkouts call others
    called: list[Link] = []  # what others call it
    tracker: Kind = Kind.BUILTIN  # where its issues live; `tracker status` tells more
    tracker_problem: str = ""


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
    errors=(NotFound,),
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
    summary="Change a project's name or stages, what others may do in it, or the sandbox of its gates.",
    effect=Effect.WRITE,
    command=Command("project edit", ("project",)),
    examples=(
        "maestro project edit vc --stages plan,build,ship",
        "maestro project edit vc --inbound known",
        "maestro project edit vc --sandbox bubblewrap --cache ~/.cache/pip --cache ~/.npm",
    ),
    errors=(NotFound, NameTaken, Conflict),
)

LINK = Operation(
    "project.link",
    LinkProject,
    Linked,
    callers=Callers.OWNERS,
    http=POST("/api/links"),
    summary="Give another project a name in this checkout's settings.",
    effect=Effect.ACTION,
    command=Command("project link", ("name",), hidden=("directory",)),
    examples=(
        "maestro project link beads --remote git@github.com:steveyegge/beads.git",
        "maestro project link beads --path ../beads --local",
    ),
    errors=(NotFound, NotPermitted, Conflict),
)
UNLINK = Operation(
    "project.unlink",
    UnlinkProject,
    Linked,
    callers=Callers.OWNERS,
    http=POST("/api/links/remove"),
    summary="Take a name away again.",
    effect=Effect.ACTION,
    command=Command("project unlink", ("name",), hidden=("directory",)),
    examples=("maestro project unlink beads",),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (INIT, LOCATE, LIST, SHOW, EDIT, LINK, UNLINK)
