"""Write links to other projects into the settings of a checkout: the committed file, or the local file."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.domain.links import (
    LinkEntry,
    LinkSource,
    ProjectLink,
    check_link_name,
    put_entry,
    read_entries,
    remove_entry,
)
from maestro.domain.projects import Workspace
from maestro.operations import projects as ops
from maestro.services.projects.discovery import ProjectDiscovery, identity_of
from maestro.services.projects.locate import ProjectLocator
from maestro.store.base import Store
from maestro.system import checkout_files

_IGNORE = "local.toml"
_PATH_KEY = "path:"  # begins the key of a project without a remote


class ProjectLinking:
    """The operations `project link` and `project unlink`."""

    def __init__(self, store: Store, locator: ProjectLocator, discovery: ProjectDiscovery) -> None:
        self._store = store
        self._locator = locator
        self._discovery = discovery

    async def link_project(self, caller: Caller, request: ops.LinkProject) -> ops.ProjectLinks:
        """Give another project a name in this checkout. Without a remote or a path, find the project by the name."""
        workspace = await self._own_checkout(caller, request.directory)
        name, source = check_link_name(request.name), _settings_file(request)
        remote, path = request.remote, request.path
        if not (remote or path):
            remote, path = _address_of(await self._discovery.find_by_convention(workspace, name))
        entry = LinkEntry(name=name, source=source, remote=remote, path=path)
        await identity_of(self._store, entry, base=workspace.path)
        text = _read_text(workspace, source.value)
        _save_settings(workspace, source, put_entry(text, name, remote=remote, path=path))
        return await self._refreshed_links(caller, workspace)

    async def unlink_project(self, caller: Caller, request: ops.UnlinkProject) -> ops.ProjectLinks:
        """Remove the name from every settings file that contains the name."""
        workspace = await self._own_checkout(caller, request.directory)
        name, is_removed = check_link_name(request.name), False
        for source in (LinkSource.LOCAL,) if request.local else (LinkSource.LOCAL, LinkSource.CONFIG):
            text = _read_text(workspace, source.value)
            if name in {entry.name for entry in read_entries({source: text})[0]}:
                _save_settings(workspace, source, remove_entry(text, name))
                is_removed = True
        if not is_removed:
            raise errors.NotFound(f"No project is called {name!r} in the settings of {workspace.path}.")
        return await self._refreshed_links(caller, workspace)

    async def _own_checkout(self, caller: Caller, directory: str) -> Workspace:
        """Return the checkout of the directory; refuse a session of another project."""
        located = await self._locator.locate_directory(caller, ops.LocateProject(path=directory))
        if caller.is_session and caller.project_id != located.project.id:
            raise errors.NotPermitted(f"This session does not belong to {located.project.name}.")
        return located.workspace

    async def _refreshed_links(self, caller: Caller, workspace: Workspace) -> ops.ProjectLinks:
        notes = await self._discovery.refresh_settings(caller, workspace)
        links = await self._store.read(lambda tx: tx.links.of_workspace(workspace.id), quick=True)
        return ops.ProjectLinks(links=links, notes=notes)


def _address_of(link: ProjectLink) -> tuple[str, str]:
    """Return the remote of a project, or the path of a project without a remote. One of both is empty."""
    if ":" not in link.key:
        return f"https://{link.key}", ""
    path = link.path or (link.key.removeprefix(_PATH_KEY) if link.key.startswith(_PATH_KEY) else "")
    if not path:
        raise errors.Invalid(
            f"The project {link.project} has no remote.", hint="Give the directory of its checkout: --path FOLDER"
        )
    return "", path


def _settings_file(request: ops.LinkProject) -> LinkSource:
    return LinkSource.LOCAL if request.local else LinkSource.CONFIG


def _read_text(workspace: Workspace, name: str) -> str:
    """Return the text of a file in the checkout; an empty text if the file does not exist."""
    file = Path(workspace.path, name)
    try:
        data = checkout_files.read_file(workspace.path, name, bytes_max=limits.checkout_settings_bytes_max)
    except OSError as error:
        raise errors.Invalid(f"{file} cannot be read: {error.strerror}.") from error
    if data is not None and len(data) >= limits.checkout_settings_bytes_max:
        raise errors.TooLarge(f"{file} is larger than {limits.checkout_settings_bytes_max} bytes.")
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        raise errors.Invalid(f"{file} is not valid UTF-8.") from None


def _save_settings(workspace: Workspace, source: LinkSource, text: str) -> None:
    """Replace the whole settings file, and keep the local file out of git."""
    file = Path(workspace.path, source.value)
    _, problems = read_entries({source: text})
    if problems:
        raise errors.Invalid(f"{file} has a mistake: {problems[0]}", hint="Correct the file in an editor first.")
    if source is LinkSource.LOCAL:
        _ignore_local_file(workspace, str(PurePosixPath(source.value).parent / ".gitignore"))
    _write_text(workspace, source.value, text)


def _ignore_local_file(workspace: Workspace, name: str) -> None:
    ignored = _read_text(workspace, name)
    if _IGNORE not in ignored.splitlines():
        _write_text(workspace, name, f"{ignored.rstrip()}\n{_IGNORE}\n".lstrip())


def _write_text(workspace: Workspace, name: str, text: str) -> None:
    try:
        checkout_files.write_file(workspace.path, name, text.encode())
    except OSError as error:
        raise errors.Invalid(f"{workspace.path}/{name} cannot be written: {error.strerror}.") from error
