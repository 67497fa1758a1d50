"""Files of the person are read and written without a check, and files of a session only after a check."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core.errors import Invalid, NotPermitted
from maestro.domain.callers import Caller, Role, person_caller
from maestro.domain.client_files import FileAccess
from maestro.operations.files import CheckFile
from maestro.surfaces.cli.client_files import find_target_folder, read_client_file

PERSON = person_caller("dana")
WORKER = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id="prj_1")


async def test_a_file_of_the_person_is_read_without_a_check(app: Any, make_channel: Any) -> None:
    channel = make_channel(files={"notes.md": b"text"})
    assert await read_client_file(app, channel, PERSON, "notes.md") == b"text"
    assert app.calls == []


async def test_the_real_path_of_a_session_s_file_is_checked_before_the_file_is_read(
    app: Any, make_channel: Any
) -> None:
    app.answers["file.check"] = None
    assert await read_client_file(app, make_channel(files={"notes.md": b"text"}), WORKER, "notes.md") == b"text"
    assert app.last.request == CheckFile(path="/src/dave/vc/notes.md", access=FileAccess.READ)
    assert app.last.caller is WORKER


async def test_a_refused_file_is_not_read(app: Any, make_channel: Any) -> None:
    app.answers["file.check"] = NotPermitted("Outside of the checkout.")
    channel = make_channel()  # the channel has no file: a read would raise KeyError
    with pytest.raises(NotPermitted):
        await read_client_file(app, channel, WORKER, "/etc/passwd")


async def test_a_pipe_of_a_session_is_read_without_a_check(app: Any, make_channel: Any) -> None:
    channel = make_channel(files={"/dev/fd/63": b"text"}, real_paths={"/dev/fd/63": "pipe:[123]"})
    assert await read_client_file(app, channel, WORKER, "/dev/fd/63") == b"text"
    assert app.calls == []


async def test_the_target_of_the_person_is_not_checked(app: Any, make_channel: Any) -> None:
    assert await find_target_folder(app, make_channel(), PERSON, "/anywhere/run.html") is None
    assert app.calls == []


async def test_the_target_of_a_session_is_checked_with_the_real_path_of_its_folder(
    app: Any, make_channel: Any
) -> None:
    app.answers["file.check"] = None
    channel = make_channel(real_paths={"out": "/src/dave/vc/build"})
    assert await find_target_folder(app, channel, WORKER, "out/run.html") == "/src/dave/vc/build"
    assert app.last.request == CheckFile(path="/src/dave/vc/build/run.html", access=FileAccess.WRITE)


@pytest.mark.parametrize("path", ["", "..", "out/..", "/"])
async def test_a_target_without_a_file_name_is_refused(app: Any, make_channel: Any, path: str) -> None:
    with pytest.raises(Invalid, match="name a file, not a directory"):
        await find_target_folder(app, make_channel(), WORKER, path)
    assert app.calls == []
