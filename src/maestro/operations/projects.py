"""Operations on projects and on the names that a checkout gives to other projects."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.core.errors import Ambiguous, Conflict, NameTaken, NotFound, NotPermitted
from maestro.domain.callers import Callers
from maestro.domain.links import ProjectLink
from maestro.domain.projects import InboundPolicy, Project, Workspace
from maestro.domain.sandboxes import SandboxMode
from maestro.domain.trackers import TrackerKind
from maestro.operations import fields
from maestro.operations.base import GET, PATCH, POST, CommandSyntax, Effect, InProject, ListPage, Operation, Request


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
    inbound: (
        Annotated[InboundPolicy, Meta(description="Who may write to the project from other projects.")] | None
    ) = None
    replies_reopen: (
        Annotated[bool, Meta(description="Whether a reply of the opener reopens a closed issue.")] | None
    ) = None
    sandbox: (
        Annotated[SandboxMode, Meta(description="Where gates and set-up commands of the project run.")] | None
    ) = None
    caches: (
        Annotated[
            list[fields.Path],
            Meta(
                max_length=limits.sandbox_caches_max,
                description="A folder that the sandbox may read. May be repeated; replaces the folders set before.",
                extra={"repeat": True, "flag": "cache", "label": "FOLDER"},
            ),
        ]
        | None
    ) = None


class ProjectLocation(msgspec.Struct, frozen=True, kw_only=True):
    """The project and the checkout of a directory."""

    project: Project
    workspace: Workspace
    notes: list[str] = []


class LinkProject(Request, frozen=True, kw_only=True):
    name: Annotated[fields.Name, Meta(description="The other project's name in this checkout.")]
    remote: Annotated[
        str,
        Meta(
            max_length=2000,
            pattern=fields.LINE_OR_EMPTY,
            description="The other project's git remote.",
            extra={"label": "URL"},
        ),
    ] = ""
    path: Annotated[
        str,
        Meta(
            max_length=2000,
            pattern=fields.TEXT,
            description="A checkout of the other project.",
            extra={"label": "FOLDER"},
        ),
    ] = ""
    local: Annotated[bool, Meta(description="For this checkout only, in a file that git ignores.")] = False
    directory: Annotated[fields.Path, Meta(description="A directory in the checkout that gets the name.")]


class UnlinkProject(Request, frozen=True, kw_only=True):
    name: Annotated[fields.Name, Meta(description="The other project's name in this checkout.")]
    local: Annotated[bool, Meta(description="Only from the file that git ignores.")] = False
    directory: Annotated[fields.Path, Meta(description="A directory in the checkout that has the name.")]


class ProjectLinks(msgspec.Struct, frozen=True, kw_only=True):
    """The names of other projects in a checkout, with the source of each name."""

    links: list[ProjectLink]
    notes: list[str] = []


class ProjectList(ListPage, frozen=True, kw_only=True):
    projects: list[Project]
    links: list[ProjectLink] = []  # the names that the current project gives to projects


class ProjectDetail(Project, frozen=True, kw_only=True):
    """A project with its checkouts, and the number of tasks in each status."""

    workspaces: list[Workspace]
    tasks: dict[str, int]
    links: list[ProjectLink] = []  # the names that the checkouts give to other projects
    incoming_links: list[ProjectLink] = []  # the names that other projects give to the project
    tracker: TrackerKind = TrackerKind.BUILTIN  # where the project's issues live; `tracker status` shows details
    tracker_problem: str = ""


INIT = Operation(
    "project.init",
    InitProject,
    ProjectLocation,
    callers=Callers.KNOWN,
    http=POST("/api/projects"),
    summary="Register the project of a directory.",
    effect=Effect.ACTION,
    command=CommandSyntax("init", hidden=("path",)),
    examples=("maestro init", "maestro init --name vc"),
    errors=(NotFound, NameTaken, Conflict),
)
LOCATE = Operation(
    "project.locate",
    LocateProject,
    ProjectLocation,
    callers=Callers.KNOWN,
    http=GET("/api/locate"),
    summary="Show the project of a directory; an unknown git checkout is registered.",
    effect=Effect.ACTION,
    errors=(NotFound, Conflict),
)
LIST = Operation(
    "project.list",
    ListProjects,
    ProjectList,
    callers=Callers.KNOWN,
    http=GET("/api/projects"),
    summary="List the projects that are registered on the server.",
    effect=Effect.READ,
    command=CommandSyntax("project list"),
    examples=("maestro project list",),
    errors=(NotFound,),
)
SHOW = Operation(
    "project.show",
    OneProject,
    ProjectDetail,
    callers=Callers.KNOWN,
    http=GET("/api/projects/{project}"),
    summary="Show a project, its checkouts and the status of its tasks.",
    effect=Effect.SCAN,
    command=CommandSyntax("project show", ("project",)),
    examples=("maestro project show", "maestro project show vc"),
    errors=(NotFound, Ambiguous),
)
EDIT = Operation(
    "project.edit",
    EditProject,
    Project,
    callers=Callers.PERSON,
    http=PATCH("/api/projects/{project}"),
    summary="Change a project's name, stages, access for other projects, or the sandbox of its gates.",
    effect=Effect.WRITE,
    command=CommandSyntax("project edit", ("project",)),
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
    ProjectLinks,
    callers=Callers.OWNERS,
    http=POST("/api/links"),
    summary="Give another project a name in this checkout's settings.",
    effect=Effect.ACTION,
    command=CommandSyntax("project link", ("name",), hidden=("directory",)),
    examples=(
        "maestro project link beads --remote git@github.com:steveyegge/beads.git",
        "maestro project link beads --path ../beads --local",
    ),
    errors=(NotFound, NotPermitted, Conflict),
)
UNLINK = Operation(
    "project.unlink",
    UnlinkProject,
    ProjectLinks,
    callers=Callers.OWNERS,
    http=POST("/api/links/remove"),
    summary="Remove a name of another project from this checkout's settings.",
    effect=Effect.ACTION,
    command=CommandSyntax("project unlink", ("name",), hidden=("directory",)),
    examples=("maestro project unlink beads",),
    errors=(NotFound, NotPermitted, Conflict),
)

ALL = (INIT, LOCATE, LIST, SHOW, EDIT, LINK, UNLINK)
