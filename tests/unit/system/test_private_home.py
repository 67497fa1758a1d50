"""Each path of the data directory is checked; a path that other users could reach is named, closed or refused."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

import pytest

from maestro.system import private_home
from maestro.system.private_home import (
    NotPrivate,
    close_files,
    find_exposed,
    is_in_use,
    repair_exposed,
    require_private,
)

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    return folder


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def write(path: Path, mode: int) -> Path:
    path.write_text("x")
    path.chmod(mode)
    return path


def exposed_names(home: Path) -> list[str]:
    return [entry.path.name for entry in find_exposed(home)]


def test_a_private_data_directory_is_accepted(home: Path) -> None:
    write(home / "token", 0o600)
    require_private(home)


def test_an_open_directory_with_files_is_refused_and_keeps_its_mode(home: Path) -> None:
    write(home / "token", 0o600)
    home.chmod(0o750)
    with pytest.raises(NotPrivate, match="0750") as refused:
        require_private(home)
    assert private_home.FIX_COMMAND in refused.value.hint and mode_of(home) == 0o750


def test_an_open_and_empty_directory_is_made_private(home: Path) -> None:
    home.chmod(0o755)
    require_private(home)
    assert mode_of(home) == 0o700


@as_root
def test_a_directory_of_another_user_is_refused(home: Path) -> None:
    os.chown(home, NOBODY, -1)
    with pytest.raises(NotPrivate, match="belongs to another user") as refused:
        require_private(home)
    assert "chown" in refused.value.hint


def test_open_files_lose_only_the_rights_of_other_users(home: Path) -> None:
    write(home / "maestro.db", 0o644)
    write(home / "server.log", 0o466)
    (home / "sessions").mkdir()
    close_files(home)
    assert mode_of(home / "maestro.db") == 0o600 and mode_of(home / "server.log") == 0o400


@pytest.mark.parametrize("name", private_home.SECRETS)
def test_a_secret_that_other_users_could_read_is_refused_and_keeps_its_mode(home: Path, name: str) -> None:
    secret = write(home / name, 0o640)
    with pytest.raises(NotPrivate, match="0640"):
        close_files(home)
    assert mode_of(secret) == 0o640


def test_a_secret_that_is_a_link_or_folder_is_refused(home: Path) -> None:
    (home / "token").symlink_to(home / "elsewhere")
    with pytest.raises(NotPrivate, match="symbolic link"):
        close_files(home)
    (home / "token").unlink()
    (home / "token").mkdir()
    with pytest.raises(NotPrivate, match="not a plain file"):
        close_files(home)


@as_root
def test_a_file_of_another_user_is_refused(home: Path) -> None:
    os.chown(write(home / "config.toml", 0o600), NOBODY, -1)
    with pytest.raises(NotPrivate, match=r"config\.toml belongs to another user"):
        close_files(home)


def test_a_missing_or_closed_directory_has_no_exposed_path(home: Path) -> None:
    write(home / "token", 0o600)
    assert find_exposed(home) == [] and find_exposed(home / "missing") == []


def test_an_open_file_is_reported_with_its_mode(home: Path) -> None:
    write(home / "maestro.db", 0o644)
    (found,) = find_exposed(home)
    assert found.path == home / "maestro.db" and "0644" in found.why
    assert not found.is_secret and not found.is_foreign


def test_a_secret_with_an_open_mode_is_reported_as_exposed(home: Path) -> None:
    write(home / "secret", 0o604)
    (found,) = find_exposed(home)
    assert found.is_secret


@pytest.mark.parametrize(("mode", "is_exposed"), [(0o755, False), (0o777, True), (0o720, True)])
def test_a_private_secret_in_a_directory_that_others_can_write_is_exposed(
    home: Path, mode: int, is_exposed: bool
) -> None:
    write(home / "token", 0o600)
    home.chmod(mode)
    assert [entry.is_secret for entry in find_exposed(home)] == [False, *([True] if is_exposed else [])]


def test_an_open_file_in_a_folder_is_reported_only_if_other_users_may_enter_the_folder(home: Path) -> None:
    for name, mode in (("blobs", 0o711), ("sessions", 0o700)):
        (home / name).mkdir()
        write(home / name / f"in-{name}", 0o644)
        (home / name).chmod(mode)
    assert exposed_names(home) == ["blobs", "in-blobs"]


def test_open_modes_of_worktrees_are_not_reported(home: Path) -> None:
    (home / "worktrees").mkdir()
    write(home / "worktrees" / "file", 0o666)
    (home / "worktrees").chmod(0o755)
    assert find_exposed(home) == []


@as_root
def test_a_path_of_another_user_is_reported_as_foreign(home: Path) -> None:
    os.chown(write(home / "config.toml", 0o600), NOBODY, -1)
    (found,) = find_exposed(home)
    assert found.is_foreign


def test_the_repair_closes_open_paths_and_removes_exposed_secrets(home: Path) -> None:
    write(home / "token", 0o644)
    write(home / "maestro.db", 0o644)
    home.chmod(0o755)
    repair_exposed(home, find_exposed(home))
    assert mode_of(home) == 0o700 and mode_of(home / "maestro.db") == 0o600
    assert not (home / "token").exists()
    assert (home / private_home.EXPOSED_MARK).exists() and mode_of(home / private_home.EXPOSED_MARK) == 0o600
    assert find_exposed(home) == []


def test_the_repair_keeps_all_secrets_when_no_secret_was_exposed(home: Path) -> None:
    write(home / "token", 0o600)
    write(home / "server.log", 0o644)
    repair_exposed(home, find_exposed(home))
    assert (home / "token").exists() and not (home / private_home.EXPOSED_MARK).exists()


def test_the_repair_does_not_change_the_mode_of_a_link_target(home: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "target", 0o644)
    (home / "token").symlink_to(target)
    repair_exposed(home, find_exposed(home))
    assert mode_of(target) == 0o644 and not (home / "token").is_symlink()


def test_a_directory_without_a_lock_file_is_not_in_use(home: Path) -> None:
    assert not is_in_use(home)


def test_a_directory_is_in_use_while_its_lock_is_held(home: Path) -> None:
    with (home / private_home.LOCK_FILE).open("w") as held:
        assert not is_in_use(home)
        fcntl.flock(held, fcntl.LOCK_EX)
        assert is_in_use(home)
    assert not is_in_use(home)


def test_a_pipe_in_the_place_of_the_lock_file_does_not_block_the_check(home: Path) -> None:
    os.mkfifo(home / private_home.LOCK_FILE)
    assert not is_in_use(home)
