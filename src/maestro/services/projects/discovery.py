"""Find other projects by name: in a checkout's settings, then beside the checkout, then among all known projects.

The links that were found are stored for each checkout, so that a name means the same project in every command. The
settings files are read again when they change.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import remotes
from maestro.domain.callers import SERVER_CALLER, Caller
from maestro.domain.identity import RESERVED_NAMES, ProjectIdentity, identify_project
from maestro.domain.links import LinkEntry, LinkSource, ProjectLink, read_entries
from maestro.domain.projects import InboundPolicy, Project, Workspace
from maestro.domain.trackers import TrackerKind, configured_tracker
from maestro.git.worktrees import parse_setup
from maestro.operations import issues as issue_ops
from maestro.operations import mail_shapes, task_shapes
from maestro.services.access.scope import find_linked_project
from maestro.services.projects import registry as projects
from maestro.services.projects import tracker_choice
from maestro.services.projects.checkouts import read_checkout
from maestro.services.projects.locate import find_or_register_project
from maestro.store.base import Store, Tx
from maestro.system.small_files import read_small
from maestro.text import bounded_toml

SETTINGS_FILES = (LinkSource.CONFIG, LinkSource.LOCAL)
_CHECKOUTS_MAX = 5
_REMEMBERED_MAX = 10_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_Stamps = tuple[int, ...]


class ProjectDiscovery:
    """Finds the projects that names stand for, and applies the settings files of checkouts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, _Stamps] = {}  # by workspace: the stamps of its settings files when last read
        self._with_pending_rules: set[str] = set()  # workspaces with new rules that take effect only for the person
        # Names that were resolved before, by caller and project, with the checkouts that were searched.
        self._resolved: dict[tuple[str | None, ...], list[Workspace]] = {}

    async def refresh_settings(self, caller: Caller, workspace: Workspace, *, shows_notes: bool = True) -> list[str]:
        """Apply the checkout's settings files, if they have changed. Return notes on the files for the caller.

        A set-up command is accepted only if the caller `shows_notes`, because the person must see the command.
        """
        present_stamps = settings_stamps(workspace.path)
        if self._read.get(workspace.id) == present_stamps and not self.has_pending_rules(caller, workspace):
            return []
        texts, named, notes = await asyncio.to_thread(_read_settings, workspace.path)
        identified = [(entry, await self._identity(workspace, entry, notes)) for entry in named]
        known = [(entry, identity) for entry, identity in identified if identity is not None]
        if any(texts.values()) or workspace.id in self._read or await self._has_links(workspace):
            await self._store.write(lambda tx: _replace_links(tx, workspace, known))
        rules, tracker = await asyncio.to_thread(_read_rules_and_tracker, texts, notes)
        if caller.is_session:
            self._with_pending_rules.add(workspace.id)
        else:
            self._with_pending_rules.discard(workspace.id)
            if rules or tracker or await self._has_tracker(workspace):
                await self._store.write(lambda tx: _apply_rules(tx, caller, workspace, rules, tracker))
            command = await asyncio.to_thread(parse_setup, texts[LinkSource.CONFIG])
            if not shows_notes:
                self._with_pending_rules.add(workspace.id)
            elif await self._accept_setup(workspace, command) and command:
                notes.append(
                    f"{LinkSource.CONFIG.value}: new worktrees run the set-up command `{command}` from now on"
                )
        self._read[workspace.id] = present_stamps
        return notes

    def has_pending_rules(self, caller: Caller, workspace: Workspace) -> bool:
        """Return whether the caller is the person and the workspace has rules that wait for a call of the person."""
        return not caller.is_session and workspace.id in self._with_pending_rules

    async def make_names_known(self, caller: Caller, names: Iterable[str], *, present_project: str) -> None:
        """Make names known before a transaction: read changed settings, and search beside the checkout."""
        wanted = list(dict.fromkeys(name.lower() for name in names if name and not ids.is_id(name)))
        if not wanted:
            return

        question = (caller.workspace_id, caller.project_id or present_project, *wanted)
        searched = self._resolved.get(question)
        if searched is not None and all(
            self._read.get(known.id) == settings_stamps(known.path) for known in searched
        ):
            return

        def read_unknown(tx: Tx) -> tuple[list[Workspace], list[str]]:
            return _checkouts(tx, caller, present_project), _unknown_names(tx, caller, wanted, present_project)

        checkouts, unknown = await self._store.read(read_unknown, quick=True)
        stale = [checkout for checkout in checkouts if self._read.get(checkout.id) != settings_stamps(checkout.path)]
        for workspace in stale:
            await self.refresh_settings(caller, workspace, shows_notes=False)
        if stale and unknown:
            _, unknown = await self._store.read(read_unknown, quick=True)
        for name in unknown:
            await self._find_beside(checkouts, name)
        if not unknown:
            if len(self._resolved) >= _REMEMBERED_MAX:
                self._resolved.clear()
            self._resolved[question] = checkouts

    async def _find_beside(self, checkouts: Sequence[Workspace], name: str) -> ProjectLink | None:
        """Find and store a checkout of the name beside one of the checkouts, if both have the same owner."""
        for workspace in checkouts:
            project = await self._project_of(workspace)
            for folder in checkouts_beside(workspace.path, name):
                checkout = await read_checkout(self._store, folder)
                identity = identify_project(checkout) if checkout is not None else None
                if identity is not None and project is not None and have_same_owner(identity.key, project.key):
                    entry = LinkEntry(name=name, source=LinkSource.NEIGHBOUR, path=folder)
                    return await self._store_link(workspace, entry, identity)
        return None

    async def _project_of(self, workspace: Workspace) -> Project | None:
        return await self._store.read(lambda tx: tx.projects.get(workspace.project_id), quick=True)

    async def _store_link(self, workspace: Workspace, entry: LinkEntry, identity: ProjectIdentity) -> ProjectLink:
        return await self._store.write(lambda tx: _put_link(tx, workspace, entry, identity))

    async def find_by_convention(self, workspace: Workspace, name: str) -> ProjectLink:
        """Return the project that the name means by convention, for a link without a remote or a path."""
        link = await self._find_beside([workspace], name)
        if link is not None:
            return link
        known = await self._store.read(lambda tx: tx.projects.by_name(name) or tx.projects.by_key(name), quick=True)
        if known is None:
            raise errors.NotFound(
                f"No project {name!r} is known, and no checkout of that name lies beside {workspace.path}.",
                hint="Give the location of the project: --remote ADDRESS or --path FOLDER.",
            )
        return ProjectLink(
            name=name, project_id=known.id, project=known.name, key=known.key, source=LinkSource.SERVER
        )

    async def _identity(self, workspace: Workspace, entry: LinkEntry, notes: list[str]) -> ProjectIdentity | None:
        try:
            return await identity_of(self._store, entry, base=workspace.path)
        except errors.MaestroError as error:
            notes.append(f"{entry.source.value}: [projects.{entry.name}]: {error.message}")
            return None

    async def _has_tracker(self, workspace: Workspace) -> bool:
        return await self._store.read(lambda tx: tx.trackers.get(workspace.project_id) is not None, quick=True)

    async def _accept_setup(self, workspace: Workspace, command: str) -> bool:
        """Record the set-up command of a checkout, and return whether the command is new.

        Only a recorded command may run in new worktrees.
        """
        is_new = await self._store.read(lambda tx: tx.projects.accepted_setup(workspace.id), quick=True) != command
        if is_new:
            await self._store.write(lambda tx: tx.projects.accept_setup(workspace.id, command))
        return is_new

    async def _has_links(self, workspace: Workspace) -> bool:
        return await self._store.read(lambda tx: bool(tx.links.of_workspace(workspace.id)), quick=True)


class RequestNames:
    """Makes the project names in requests known before the transactions of the requests begin."""

    def __init__(self, discovery: ProjectDiscovery) -> None:
        self._discovery = discovery

    async def make_names_known(self, caller: Caller, request: Any) -> None:
        """Make all texts of the request known that could be names of projects."""
        names = [_project_name_in(text) for text in _address_texts(request)]
        if any(names):
            await self._discovery.make_names_known(caller, names, present_project=getattr(request, "project", ""))


def _address_texts(request: Any) -> list[str]:
    match request:
        case issue_ops.OpenIssue():
            return [request.to]
        case mail_shapes.SendMail():
            return request.to
        case task_shapes.CreateTask():
            return [ref for ref in request.depends_on if "#" in ref]
        case task_shapes.DependTask():
            return [ref for ref in request.on if "#" in ref]
    return []


def _project_name_in(text: str) -> str:
    """Return `beads` for beads, project:beads and beads#12; an empty text for a text that names no project."""
    if ids.is_id(text):
        return ""
    name = text.removeprefix("project:").partition("#")[0].strip()
    return name if _NAME.fullmatch(name) and name not in RESERVED_NAMES else ""


async def identity_of(store: Store, entry: LinkEntry, *, base: str) -> ProjectIdentity:
    """Return the project of an entry: by its remote, which needs no checkout, else by the checkout at its path."""
    if entry.remote:
        remote = remotes.canonical_remote(entry.remote, base=base)
        return ProjectIdentity(remote.key, remote.name, "remote")
    folder = os.path.join(base, Path(entry.path).expanduser())  # noqa: PTH118 the path may be absolute
    checkout = await read_checkout(store, folder)
    if checkout is None:
        raise errors.NotFound(f"{folder} is not a git checkout.")
    return identify_project(checkout)


def settings_stamps(toplevel: str) -> _Stamps:
    """Return stamps of a checkout's settings files that differ after each change of the files."""
    return tuple(_file_stamp(f"{toplevel}/{source.value}") for source in SETTINGS_FILES)


def checkouts_beside(toplevel: str, name: str) -> list[str]:
    """Return existing checkouts of the name: next to the checkout, or next to the checkout's parent folder."""
    parent = Path(toplevel).parent
    candidates = (parent / name, parent.parent / parent.name / name, parent.parent / name)
    return [str(folder) for folder in dict.fromkeys(candidates) if (folder / ".git").exists()]


def have_same_owner(key: str, other_key: str) -> bool:
    """Return whether two keys share an owner, as `github.com/acme/beads` and `github.com/acme/vc` do."""
    return bool(owner := key.rpartition("/")[0]) and owner == other_key.rpartition("/")[0] and ":" not in key


def _file_stamp(path: str) -> int:
    try:
        status = os.stat(path)  # noqa: PTH116 runs with every command, and pathlib is slower
    except OSError:
        return 0
    return status.st_mtime_ns ^ status.st_size


def _read_settings(toplevel: str) -> tuple[dict[LinkSource, str], list[LinkEntry], list[str]]:
    """Return the settings of a checkout, the projects that the settings name, and the problems in the settings."""
    unreadable: list[str] = []
    texts = {source: _settings_text(toplevel, source, unreadable) for source in SETTINGS_FILES}
    named, problems = read_entries(texts)
    return texts, named, unreadable + problems


def _read_rules_and_tracker(
    texts: dict[LinkSource, str], problems: list[str]
) -> tuple[dict[str, Any], tuple[TrackerKind, LinkSource] | None]:
    """Return the rules of a project and its tracker."""
    return _rules(texts[LinkSource.CONFIG], problems), configured_tracker(texts, problems)


def _settings_text(toplevel: str, source: LinkSource, problems: list[str]) -> str:
    """Return the text of a settings file. For an unreadable file return an empty text and add the problem."""
    file = f"{toplevel}/{source.value}"
    data = read_small(file)
    if data is None and os.path.lexists(file):
        problems.append(f"{source.value} cannot be read: it is not a plain file, or not readable.")
    elif data is not None and len(data) >= limits.checkout_settings_bytes_max:
        most = limits.checkout_settings_bytes_max
        problems.append(f"{source.value} cannot be read: it is larger than {most} bytes.")
    else:
        try:
            return (data or b"").decode()
        except UnicodeDecodeError:
            problems.append(f"{source.value} cannot be read: it is not UTF-8.")
    return ""


def _checkouts(tx: Tx, caller: Caller, present_project: str) -> list[Workspace]:
    """Return the caller's own checkout; for the person, the checkouts of the present project."""
    if caller.workspace_id is not None:
        own = tx.projects.get_workspace(caller.workspace_id)
        return [own] if own else []
    project = tx.projects.get(caller.project_id or present_project)
    if project is None and present_project:
        project = tx.projects.by_name(present_project)
    return tx.projects.workspaces_of(project.id, limit=_CHECKOUTS_MAX) if project else []


def _unknown_names(tx: Tx, caller: Caller, names: Sequence[str], present_project: str) -> list[str]:
    def is_known(name: str) -> bool:
        link = find_linked_project(tx, caller, name, project_at_hand=present_project)
        project = link or tx.projects.by_name(name) or tx.projects.by_key(name)
        return project is not None or (
            caller.project_id is not None and tx.sessions.by_name(caller.project_id, name) is not None
        )

    return [name for name in names if not is_known(name)]


def _replace_links(tx: Tx, workspace: Workspace, named: Sequence[tuple[LinkEntry, ProjectIdentity]]) -> None:
    """Replace the links of the checkout by those in its files. Links found beside the checkout stay."""
    names = {entry.name for entry, _ in named}
    for link in tx.links.of_workspace(workspace.id):
        if link.name not in names and link.source is not LinkSource.NEIGHBOUR:
            tx.links.drop(workspace.id, link.name)
    for entry, identity in named:
        _put_link(tx, workspace, entry, identity)


def _put_link(tx: Tx, workspace: Workspace, entry: LinkEntry, identity: ProjectIdentity) -> ProjectLink:
    """Store a link. Register its project in the server's name, even without a checkout: a settings file names it."""
    project = find_or_register_project(tx, SERVER_CALLER, identity, [])
    link = ProjectLink(
        name=entry.name,
        project_id=project.id,
        project=project.name,
        key=project.key,
        source=entry.source,
        remote=remotes.remove_secrets(entry.remote) if entry.remote else "",
        path=entry.path,
    )
    tx.links.put(workspace.id, link)
    return link


def _rules(text: str, problems: list[str]) -> dict[str, Any]:
    """Return `inbound` and `replies_reopen` of the committed file."""
    try:
        settings = bounded_toml.parse_toml(text)
    except bounded_toml.TomlUnreadable:
        return {}  # `read_entries` has reported the problem
    rules: dict[str, Any] = {}
    if "inbound" in settings:
        try:
            rules["inbound"] = msgspec.convert(settings["inbound"], InboundPolicy)
        except msgspec.ValidationError:
            problems.append(f"{LinkSource.CONFIG.value}: inbound must be one of {', '.join(InboundPolicy)}.")
    if isinstance(settings.get("replies_reopen"), bool):
        rules["replies_reopen"] = settings["replies_reopen"]
    return rules


def _apply_rules(
    tx: Tx,
    caller: Caller,
    workspace: Workspace,
    rules: dict[str, Any],
    tracker: tuple[TrackerKind, LinkSource] | None,
) -> None:
    project = tx.projects.get(workspace.project_id)
    if project is not None and rules:
        projects.set_rules(tx, caller, project, rules)
    tracker_choice.apply_tracker_setting(tx, caller, workspace, tracker)
