"""The server adopts the folder of sessions that earlier versions named `runs`."""

from __future__ import annotations

import fcntl
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.services.runners.sessions_folder import adopt_sessions_folder
from maestro.wire import runner_folder

Folders = Any
EARLIER_NOTE = '{"runner": 1, "runner_started": "1", "agent": 2, "agent_started": "1"}'


def test_a_sessions_folder_of_an_earlier_version_gets_the_present_name(folders: Folders) -> None:
    earlier = folders.home / runner_folder.EARLIER_SESSIONS / "ses_one"
    earlier.mkdir(parents=True)
    (earlier / runner_folder.LOG).write_text("line\n")
    adopt_sessions_folder(folders.home)
    assert folders.runners.last_log_lines("ses_one") == "line"
    assert not (folders.home / runner_folder.EARLIER_SESSIONS).exists()


@pytest.mark.parametrize("is_live", [True, False])
def test_the_earlier_name_stays_as_a_link_while_an_earlier_runner_lives(folders: Folders, is_live: bool) -> None:
    folders.write("ses_one", runner_folder.IDENTITY, EARLIER_NOTE)
    lock = folders.write("ses_one", runner_folder.LOCK, "")
    link = folders.home / runner_folder.EARLIER_SESSIONS
    with lock.open("r+") as file:
        if is_live:
            fcntl.flock(file, fcntl.LOCK_EX)
        for _ in range(2):
            adopt_sessions_folder(folders.home)
            assert link.is_symlink() is is_live
    adopt_sessions_folder(folders.home)
    assert not link.is_symlink(), "the link is removed after the end of the last earlier runner"


def test_a_link_of_the_person_instead_of_the_folder_is_renamed_and_not_removed(folders: Folders) -> None:
    elsewhere = folders.home / "disk" / "ses_one"
    elsewhere.mkdir(parents=True)
    (elsewhere / runner_folder.LOG).write_text("line\n")
    (folders.home / runner_folder.EARLIER_SESSIONS).symlink_to("disk")
    adopt_sessions_folder(folders.home)
    assert folders.runners.last_log_lines("ses_one") == "line"
    assert (folders.home / runner_folder.SESSIONS).is_symlink()


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """Provide a folder on another disk than the data directory."""
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system that a test may write to")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture
def live_folder(other_disk: Path) -> Iterator[Path]:
    """Provide the folder of a live runner of an earlier version on another disk, with its socket."""
    folder = other_disk / "ses_one"
    folder.mkdir()
    (folder / runner_folder.LOG).write_text("line\n")
    (folder / runner_folder.IDENTITY).write_text(EARLIER_NOTE)
    with (
        socket.socket(socket.AF_UNIX) as listening,
        (folder / runner_folder.LOCK).open("w") as lock,
    ):
        listening.bind(str(folder / runner_folder.CONTROL_SOCKET))
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def test_sessions_on_another_disk_stay_there_and_get_a_link(folders: Folders, live_folder: Path) -> None:
    folders.write("ses_two", runner_folder.LOG, "line\n")
    earlier = folders.home / runner_folder.EARLIER_SESSIONS
    earlier.symlink_to(live_folder.parent)
    for _ in range(2):
        adopt_sessions_folder(folders.home)
        assert folders.runners.live_sessions() == ["ses_one"]
        assert {folders.runners.last_log_lines(id) for id in ("ses_one", "ses_two")} == {"line"}
        assert earlier.readlink() == Path(runner_folder.SESSIONS), "the earlier runner still uses the earlier name"
    names = sorted(path.name for path in (folders.home / runner_folder.SESSIONS).iterdir())
    assert names == ["ses_one", "ses_two"]


def test_sessions_in_the_data_directory_stay_there_if_the_present_folder_is_on_another_disk(
    folders: Folders, other_disk: Path
) -> None:
    earlier = folders.home / runner_folder.EARLIER_SESSIONS / "ses_one"
    earlier.mkdir(parents=True)
    (earlier / runner_folder.LOG).write_text("line\n")
    (folders.home / runner_folder.SESSIONS).symlink_to(other_disk)
    for _ in range(2):
        adopt_sessions_folder(folders.home)
        assert folders.runners.last_log_lines("ses_one") == "line"
    assert [path.name for path in other_disk.iterdir()] == ["ses_one"]


def test_a_link_of_the_person_is_removed_after_its_sessions_were_moved(folders: Folders) -> None:
    elsewhere = folders.home / "disk" / "ses_one"
    elsewhere.mkdir(parents=True)
    (elsewhere / runner_folder.LOG).write_text("line\n")
    folders.write("ses_two", runner_folder.LOG, "line\n")
    (folders.home / runner_folder.EARLIER_SESSIONS).symlink_to("disk")
    adopt_sessions_folder(folders.home)
    assert folders.runners.last_log_lines("ses_one") == "line"
    assert not (folders.home / runner_folder.EARLIER_SESSIONS).is_symlink()
