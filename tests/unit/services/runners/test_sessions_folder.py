"""The server adopts the folder of sessions that earlier versions named `runs`."""

from __future__ import annotations

import fcntl
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
