"""Finding other projects: a checkout's settings first, then what lies beside it, then what this server knows.

What was found is kept for each checkout, so that a name means the same in every command; the files are read again
when they change.
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
from maestro.domain.callers import THE_SERVER, Caller
from maestro.domain.identity import RESERVED, Identity, identify
from maestro.domain.links import Entry, Link, Source, entries
from maestro.domain.projects import Inbound, Project, Workspace
from maestro.domain.trackers import Kind, chosen
from maestro.git.worktrees import setup_in
from maestro.operations import issues as issue_ops
from maestro.operations import mail_shapes, task_shapes
from maestro.services.projects import records as projects
from maestro.services.projects.checkouts import read_checkout
from maestro.services.projects.places import found_project
from maestro.services.scope import linked
from maestro.services.trackers import choosing
from maestro.store.base import Store, Tx
from maestro.system.small_files import read_small
from maestro.text import bounded_toml

FILES = (Source.CONFIG, Source.LOCAL)
_CHECKOUTS_MAX = 5
_REMEMBERED_MAX = 10_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_Stamps = tuple[int, ...]


class Discovery:
    """What other projects are called, in each checkout."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, _Stamps] = {}
        self._owed: set[str] = set()  # checkouts whose files rule what no session may have them rule
        self._met: dict[tuple[str | None, ...], list[Workspace]] = {}  # names that were known, where they were said

    async def refresh(self, caller: Caller, workspace: Workspace, *, shows_notes: bool = True) -> list[str]:
        """Take over what a checkout's files say, if they changed. Return what the caller should know of them.

        A set-up command is taken over only if the caller `shows_notes`: the person must see it.
        """
        seen = stamps(workspace.path)
        if self._read.get(workspace.id) == seen and not self.owes(caller, workspace):
            return []
        texts, said, wrong = await asyncio.to_thread(_read, workspace.path)
        found = [(entry, await self._identity(workspace, entry, wrong)) for entry in said]
        known = [(entry, identity) for entry, identity in found if identity is not None]
        if any(texts.values()) or workspace.id in self._read or await self._has_links(workspace):
            await self._store.write(lambda tx: _settle(tx, workspace, known))
        rules, tracker = await asyncio.to_thread(_chosen, texts, wrong)
        if caller.is_session:
            self._owed.add(workspace.id)
        else:
            self._owed.discard(workspace.id)
            if rules or tracker or await self._has_tracker(workspace):
                await self._store.write(lambda tx: _settle_rules(tx, caller, workspace, rules, tracker))
            command = await asyncio.to_thread(setup_in, texts[Source.CONFIG])
            if not shows_notes:
                self._owed.add(workspace.id)
            elif await self._accept_setup(workspace, command) and command:
                wrong.append(f"{Source.CONFIG.value}: new worktrees run the set-up command `{command}` from now on")
        self._read[workspace.id] = seen
        return wrong

    def owes(self, caller: Caller, workspace: Workspace) -> bool:
        """Whether only a session has come by since the files changed: what they rule counts once the person does."""
        return not caller.is_session and workspace.id in self._owed

    async def ensure(self, caller: Caller, names: Iterable[str], *, here: str) -> None:
        """Before names are looked up: read changed settings, and look beside the checkout for what is unknown."""
        wanted = list(dict.fromkeys(name.lower() for name in names if name and not ids.is_id(name)))
        if not wanted:
            return

        place = (caller.workspace_id, caller.project_id or here, *wanted)
        known = self._met.get(place)
        if known is not None and all(self._read.get(one.id) == stamps(one.path) for one in known):
            return

        def look(tx: Tx) -> tuple[list[Workspace], list[str]]:
            return _checkouts(tx, caller, here), _unknown(tx, caller, wanted, here)

        checkouts, unknown = await self._store.read(look, quick=True)
        stale = [one for one in checkouts if self._read.get(one.id) != stamps(one.path)]
        for workspace in stale:
            await self.refresh(caller, workspace, shows_notes=False)
        if stale and unknown:
            _, unknown = await self._store.read(look, quick=True)
        for name in unknown:
            await self._look_beside(checkouts, name)
        if not unknown:
            if len(self._met) >= _REMEMBERED_MAX:
                self._met.clear()
            self._met[place] = checkouts

    async def _look_beside(self, checkouts: Sequence[Workspace], name: str) -> Link | None:
        """A checkout of that name beside one of ours, if it has the same owner."""
        for workspace in checkouts:
            owner = await self._owner(workspace)
            for folder in beside(workspace.path, name):
                checkout = await read_checkout(self._store, folder)
                found = identify(checkout) if checkout is not None else None
                if found is not None and owner is not None and same_owner(found.key, owner.key):
                    entry = Entry(name=name, source=Source.BESIDE, path=folder)
                    return await self._keep(workspace, entry, found)
        return None

    async def _owner(self, workspace: Workspace) -> Project | None:
        return await self._store.read(lambda tx: tx.projects.get(workspace.project_id), quick=True)

    async def _keep(self, workspace: Workspace, entry: Entry, identity: Identity) -> Link:
        return await self._store.write(lambda tx: _put(tx, workspace, entry, identity))

    async def find(self, workspace: Workspace, name: str) -> Link:
        """What a name would mean by convention; for whoever wants to write it down."""
        found = await self._look_beside([workspace], name)
        if found is not None:
            return found
        known = await self._store.read(lambda tx: tx.projects.by_name(name) or tx.projects.by_key(name), quick=True)
        if known is None:
            raise errors.NotFound(
                f"No project {name!r} is known, and none lies beside {workspace.path}.",
                hint="Say where it is: --remote ADDRESS or --path FOLDER.",
            )
        return Link(name=name, project_id=known.id, project=known.name, key=known.key, source=Source.SERVER)

    async def _identity(self, workspace: Workspace, entry: Entry, wrong: list[str]) -> Identity | None:
        try:
            return await identity_of(self._store, entry, base=workspace.path)
        except errors.MaestroError as error:
            wrong.append(f"{entry.source.value}: [projects.{entry.name}]: {error.message}")
            return None

    async def _has_tracker(self, workspace: Workspace) -> bool:
        return await self._store.read(lambda tx: tx.trackers.get(workspace.project_id) is not None, quick=True)

    async def _accept_setup(self, workspace: Workspace, command: str) -> bool:
        """Record the set-up command of a checkout, and return whether it is another one than before.

        Only after this may the command run in new worktrees.
        """
        is_new = await self._store.read(lambda tx: tx.projects.setup(workspace.id), quick=True) != command
        if is_new:
            await self._store.write(lambda tx: tx.projects.accept_setup(workspace.id, command))
        return is_new

    async def _has_links(self, workspace: Workspace) -> bool:
        return await self._store.read(lambda tx: bool(tx.links.of_workspace(workspace.id)), quick=True)


class Names:
    """The names of projects in requests, made known before their transactions begin."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery

    async def before(self, caller: Caller, request: Any) -> None:
        """Whatever a request calls by a name that could be a project's."""
        names = [_project_in(text) for text in _texts(request)]
        if any(names):
            await self._discovery.ensure(caller, names, here=getattr(request, "project", ""))


def _texts(request: Any) -> list[str]:
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


def _project_in(text: str) -> str:
    """`beads` of beads, project:beads and beads#12; nothing of what is surely something else."""
    if ids.is_id(text):
        return ""
    name = text.removeprefix("project:").partition("#")[0].strip()
    return name if _NAME.fullmatch(name) and name not in RESERVED else ""


async def identity_of(store: Store, entry: Entry, *, base: str) -> Identity:
    """Which project an entry means: by its remote, which needs no checkout, else by the checkout at its path."""
    if entry.remote:
        found = remotes.canonical(entry.remote, base=base)
        return Identity(found.key, found.name, "remote")
    folder = os.path.join(base, Path(entry.path).expanduser())  # noqa: PTH118 it may be absolute
    checkout = await read_checkout(store, folder)
    if checkout is None:
        raise errors.NotFound(f"{folder} is not a git checkout.")
    return identify(checkout)


def stamps(toplevel: str) -> _Stamps:
    """What tells whether a checkout's settings have changed."""
    return tuple(_stamp(f"{toplevel}/{source.value}") for source in FILES)


def beside(toplevel: str, name: str) -> list[str]:
    """Where a checkout of that name would lie: next to this one, or next to its folder."""
    parent = Path(toplevel).parent
    places = (parent / name, parent.parent / parent.name / name, parent.parent / name)
    return [str(place) for place in dict.fromkeys(places) if (place / ".git").exists()]


def same_owner(one: str, other: str) -> bool:
    """`github.com/acme/beads` and `github.com/acme/vc`."""
    return bool(owner := one.rpartition("/")[0]) and owner == other.rpartition("/")[0] and ":" not in one


def _stamp(path: str) -> int:
    try:
        found = os.stat(path)  # noqa: PTH116 with every command
    except OSError:
        return 0
    return found.st_mtime_ns ^ found.st_size


def _read(toplevel: str) -> tuple[dict[Source, str], list[Entry], list[str]]:
    """Return the settings of a checkout, the projects that they name, and what is wrong in them."""
    unreadable: list[str] = []
    texts = {source: _text(toplevel, source, unreadable) for source in FILES}
    said, wrong = entries(texts)
    return texts, said, unreadable + wrong


def _chosen(texts: dict[Source, str], wrong: list[str]) -> tuple[dict[str, Any], tuple[Kind, Source] | None]:
    """Return the rules of a project and its tracker."""
    return _rules(texts[Source.CONFIG], wrong), chosen(texts, wrong)


def _text(toplevel: str, source: Source, wrong: list[str]) -> str:
    """Return the text of a settings file; of one that cannot be read, an empty text and what is wrong."""
    file = f"{toplevel}/{source.value}"
    data = read_small(file)
    if data is None and os.path.lexists(file):
        wrong.append(f"{source.value} cannot be read: it is no plain file, or not readable.")
    elif data is not None and len(data) >= limits.checkout_settings_bytes_max:
        wrong.append(f"{source.value} cannot be read: it is larger than {limits.checkout_settings_bytes_max} bytes.")
    else:
        try:
            return (data or b"").decode()
        except UnicodeDecodeError:
            wrong.append(f"{source.value} cannot be read: it is not UTF-8.")
    return ""


def _checkouts(tx: Tx, caller: Caller, here: str) -> list[Workspace]:
    """The caller's own checkout; for the person, those of the project at hand."""
    if caller.workspace_id is not None:
        own = tx.projects.workspace(caller.workspace_id)
        return [own] if own else []
    project = tx.projects.get(caller.project_id or here) or (tx.projects.by_name(here) if here else None)
    return tx.projects.workspaces(project.id, limit=_CHECKOUTS_MAX) if project else []


def _unknown(tx: Tx, caller: Caller, names: Sequence[str], here: str) -> list[str]:
    def is_known(name: str) -> bool:
        found = linked(tx, caller, name, here=here) or tx.projects.by_name(name) or tx.projects.by_key(name)
        return found is not None or (
            caller.project_id is not None and tx.sessions.by_name(caller.project_id, name) is not None
        )

    return [name for name in names if not is_known(name)]


def _settle(tx: Tx, workspace: Workspace, found: Sequence[tuple[Entry, Identity]]) -> None:
    """The checkout's names are what its files say now; what was found beside it stays."""
    said = {entry.name for entry, _ in found}
    for link in tx.links.of_workspace(workspace.id):
        if link.name not in said and link.source is not Source.BESIDE:
            tx.links.drop(workspace.id, link.name)
    for entry, identity in found:
        _put(tx, workspace, entry, identity)


def _put(tx: Tx, workspace: Workspace, entry: Entry, identity: Identity) -> Link:
    """The person's files name it: so it may be registered, also without a checkout."""
    project = found_project(tx, THE_SERVER, identity, [])
    link = Link(
        name=entry.name,
        project_id=project.id,
        project=project.name,
        key=project.key,
        source=entry.source,
        remote=remotes.without_secrets(entry.remote) if entry.remote else "",
        path=entry.path,
    )
    tx.links.put(workspace.id, link)
    return link


def _rules(text: str, wrong: list[str]) -> dict[str, Any]:
    """`inbound` and `replies_reopen` of the committed file."""
    try:
        said = bounded_toml.parse(text)
    except bounded_toml.Unreadable:
        return {}  # said already
    rules: dict[str, Any] = {}
    if "inbound" in said:
        try:
            rules["inbound"] = msgspec.convert(said["inbound"], Inbound)
        except msgspec.ValidationError:
            wrong.append(f"{Source.CONFIG.value}: inbound is one of {', '.join(Inbound)}.")
    if isinstance(said.get("replies_reopen"), bool):
        rules["replies_reopen"] = said["replies_reopen"]
    return rules


def _settle_rules(
    tx: Tx, caller: Caller, workspace: Workspace, rules: dict[str, Any], tracker: tuple[Kind, Source] | None
) -> None:
    project = tx.projects.get(workspace.project_id)
    if project is not None and rules:
        projects.set_rules(tx, caller, project, rules)
    choosing.settle(tx, caller, workspace, tracker)
