"""Read and place the client's files for a command. For a session, the server checks the real path first."""

from __future__ import annotations

from pathlib import PurePosixPath

from maestro.core.errors import Invalid
from maestro.domain.callers import Caller, Role
from maestro.domain.client_files import FileAccess
from maestro.operations import files
from maestro.operations.app import App
from maestro.surfaces.cli.channel import Channel


async def read_client_file(app: App, channel: Channel, caller: Caller, path: str) -> bytes:
    """Return the content of a file. Refuse a session that may not read the file."""
    if caller.role is Role.PERSON:
        return await channel.read_file(path)
    real = await channel.open_file(path)
    if real.startswith("/"):  # a pipe or a socket has no path: its content comes from the caller's own processes
        await app.call(files.CHECK, files.CheckFile(path=real, access=FileAccess.READ), caller=caller)
    return await channel.read_opened_file()


async def find_target_folder(app: App, channel: Channel, caller: Caller, path: str) -> str | None:
    """Return the real path of the folder in which a session's client may write a file; None for the person's client.

    The file itself is replaced, so a link of that name is not followed.
    """
    if caller.role is Role.PERSON:
        return None
    named = PurePosixPath(path)
    if named.name in ("", ".."):
        raise Invalid(f"{path!r} is not a file name: name a file, not a directory.")
    folder = await channel.open_file(str(named.parent))
    real = str(PurePosixPath(folder, named.name))
    await app.call(files.CHECK, files.CheckFile(path=real, access=FileAccess.WRITE), caller=caller)
    return folder
