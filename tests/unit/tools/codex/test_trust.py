"""Codex trusts the folders of a session through arguments, unless the user's settings decide about a folder."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from maestro.tools.codex import trust

SESSION = Path("/runs/ses_1")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "vc"
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    who = ["-c", "user.name=d", "-c", "user.email=d@localhost"]
    subprocess.run(["git", "-C", str(path), *who, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    return path


def trusted(directory: Path, home: Path, *, writes: bool = True) -> dict[str, dict[str, str]]:
    flag, value = trust.trust_flags(SESSION, str(directory), {"HOME": str(home)}, may_write=writes)
    assert flag == "-c"
    found: dict[str, dict[str, str]] = tomllib.loads(value)["projects"]
    return found


def test_the_session_s_folder_and_a_writable_directory_are_trusted(repository: Path, tmp_path: Path) -> None:
    level = {"trust_level": "trusted"}
    assert trusted(repository, tmp_path) == {str(SESSION): level, str(repository): level}
    assert trusted(repository, tmp_path, writes=False) == {str(SESSION): level}
    strange = tmp_path / 'a "quoted" name, and = signs'
    assert str(strange) in trusted(strange, tmp_path)


@pytest.mark.parametrize("level", ["trusted", "untrusted"])
def test_a_directory_about_which_the_user_decided_gets_no_trust_argument(
    repository: Path, tmp_path: Path, level: str
) -> None:
    worktree, inner = tmp_path / "worktree", repository / "src"
    subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(worktree)], check=True)
    inner.mkdir()
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'[projects."{repository}"]\ntrust_level = "{level}"\n')
    for directory in (repository, worktree, inner):
        assert list(trusted(directory, tmp_path)) == [str(SESSION)]
    assert str(tmp_path / "other") in trusted(tmp_path / "other", tmp_path)


@pytest.mark.parametrize("text", ["", "projects = 1", "[broken", "\udcff"])
def test_settings_without_a_decision_do_not_prevent_the_trust_argument(
    repository: Path, tmp_path: Path, text: str
) -> None:
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert str(repository) in trusted(repository, tmp_path)
