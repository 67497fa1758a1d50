"""Writing down what other projects are called: into a checkout's committed settings, or its own."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.links import Entry, Source, checked_name, entries, without, written
from maestro.domain.projects import Workspace
from maestro.operations import projects as ops
from maestro.services.projects.discovery import Discovery, identity_of
from maestro.services.projects.places import Places
from maestro.store.base import Store
from maestro.system import checkout_files

_IGNORE = "local.toml"


class Linking:
    """`project link` and `unlink`."""

    def __init__(self, store: Store, places: Places, discovery: Discovery) -> None:
        self._store = store
        self._places = places
        self._discovery = discovery

    async def link(self, caller: Caller, request: ops.LinkProject) -> ops.Linked:
        """Give another project a name here. Without a remote or a path, by what is found for the name."""
        workspace = await self._checkout(caller, request.directory)
        name, source = checked_name(request.name), _file(request)
        remote, path = request.remote, request.path
        if not (remote or path):
            found = await self._discovery.find(workspace, name)
            remote, path = ("", found.path) if ":" in found.key else (f"https://{found.key}", "")
        entry = Entry(name=name, source=source, remote=remote, path=path)
        await identity_of(self._store, entry, base=workspace.path)
        text = _text(workspace, source)
        _save(workspace, source, written(text, name, remote=remote, path=path))
        return await self._settled(caller, workspace)

    async def unlink(self, caller: Caller, request: ops.UnlinkProject) -> ops.Linked:
        """Take a name away again, from wherever it is written."""
        workspace = await self._checkout(caller, request.directory)
        name, gone = checked_name(request.name), False
        for source in (Source.LOCAL,) if request.local else (Source.LOCAL, Source.CONFIG):
            text = _text(workspace, source)
            if name in {entry.name for entry in entries({source: text})[0]}:
                _save(workspace, source, without(text, name))
                gone = True
        if not gone:
            raise errors.NotFound(f"No project is called {name!r} in the settings of {workspace.path}.")
        return await self._settled(caller, workspace)

    async def _checkout(self, caller: Caller, directory: str) -> Workspace:
        place = await self._places.locate(caller, ops.LocateProject(path=directory))
        if caller.is_session and caller.project_id != place.project.id:
            raise errors.NotPermitted(f"This session does not belong to {place.project.name}.")
        return place.workspace

    async def _settled(self, caller: Caller, workspace: Workspace) -> ops.Linked:
        notes = await self._discovery.refresh(caller, workspace)
        links = await self._store.read(lambda tx: tx.links.of_workspace(workspace.id), quick=True)
        return ops.Linked(links=links, notes=notes)


def _file(request: ops.LinkProject) -> Source:
    return Source.LOCAL if request.local else Source.CONFIG


def _text(workspace: Workspace, source: Source) -> str:
    return _read(workspace, source.value)


def _read(workspace: Workspace, name: str) -> str:
    """Return the text of a file in the checkout; an empty text where there is no file."""
    file = Path(workspace.path, name)
    try:
        found = checkout_files.read_file(workspace.path, name, bytes_max=limits.checkout_settings_bytes_max)
    except OSError as error:
        raise errors.Invalid(f"{file} cannot be read: {error.strerror}.") from error
    if found is not None and len(found) >= limits.checkout_settings_bytes_max:
        raise errors.TooLarge(f"{file} is larger than {limits.checkout_settings_bytes_max} bytes.")
    try:
        return (found or b"").decode()
    except UnicodeDecodeError:
        raise errors.Invalid(f"{file} is not valid UTF-8.") from None


def _save(workspace: Workspace, source: Source, text: str) -> None:
    """Replace the settings as a whole, and keep the local file out of git."""
    file = Path(workspace.path, source.value)
    _, wrong = entries({source: text})
    if wrong:
        raise errors.Invalid(f"{file} is not what it should be: {wrong[0]}", hint="Mend it by hand.")
    if source is Source.LOCAL:
        _ignore(workspace, str(PurePosixPath(source.value).parent / ".gitignore"))
    _write(workspace, source.value, text)


def _ignore(workspace: Workspace, name: str) -> None:
    said = _read(workspace, name)
    if _IGNORE not in said.splitlines():
        _write(workspace, name, f"{said.rstrip()}\n{_IGNORE}\n".lstrip())


def _write(workspace: Workspace, name: str, text: str) -> None:
    try:
        checkout_files.write_file(workspace.path, name, text.encode())
    except OSError as error:
        raise errors.Invalid(f"{workspace.path}/{name} cannot be written: {error.strerror}.") from error
