"""What codex is told to trust, so that it writes nothing of it into the user's own settings."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from maestro.tools.codex import trust

SESSION = Path("/runs/ses_1")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "vc"
    subprocess.run(["git", "init", "-q", str(made)], check=True)
    who = ["-c", "user.name=d", "-c", "user.email=d@localhost"]
    subprocess.run(["git", "-C", str(made), *who, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    return made


def trusted(directory: Path, home: Path, *, writes: bool = True) -> dict[str, dict[str, str]]:
    flag, value = trust.trust_flags(SESSION, str(directory), {"HOME": str(home)}, may_write=writes)
    assert flag == "-c"
    found: dict[str, dict[str, str]] = tomllib.loads(value)["projects"]
    return found


def test_its_own_folder_and_where_it_may_write(repository: Path, tmp_path: Path) -> None:
    level = {"trust_level": "trusted"}
    assert trusted(repository, tmp_path) == {str(SESSION): level, str(repository): level}
    assert trusted(repository, tmp_path, writes=False) == {str(SESSION): level}
    strange = tmp_path / 'a "quoted" name, and = signs'
    assert str(strange) in trusted(strange, tmp_path)


@pytest.mark.parametrize("level", ["trusted", "untrusted"])
def test_what_the_user_decided_stands(repository: Path, tmp_path: Path, level: str) -> None:
    worktree, inner = tmp_path / "worktree", repository / "src"
    subprocess.run(["git", "-C", str(repository), "worktree", "add", "-q", str(worktree)], check=True)
    inner.mkdir()
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'[projects."{repository}"]\ntrust_level = "{level}"\n')
    for place in (repository, worktree, inner):
        assert list(trusted(place, tmp_path)) == [str(SESSION)]
    assert str(tmp_path / "other") in trusted(tmp_path / "other", tmp_path)


@pytest.mark.parametrize("text", ["", "projects = 1", "[broken", "\udcff"])
def test_settings_that_say_nothing_of_it_decide_nothing(repository: Path, tmp_path: Path, text: str) -> None:
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert str(repository) in trusted(repository, tmp_path)
