"""The repository of a checkout by its files: the recorded directories, and the programs that the settings name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.core import limits
from maestro.core.errors import Conflict, Invalid, NotFound, TooLarge
from maestro.git import repositories
from maestro.git.repositories import Repository
from maestro.testing.git_repositories import make_repository, run_git


def find(path: Path) -> Repository:
    found = repositories.find_repository(str(path))
    assert found is not None
    return found


@pytest.fixture
def recorded(folder: Path) -> Iterator[Repository]:
    """Yield a recorded repository."""
    found = find(make_repository(folder / "vc"))
    repositories.RECORDS.add_checkout(found, frozenset())
    yield found
    repositories.RECORDS.drop_checkout(found.top)


def test_a_worktree_shares_the_common_directory_and_has_its_own_git_directory(folder: Path) -> None:
    root = make_repository(folder / "vc")
    run_git("worktree", "add", "-q", str(folder / "tree"), cwd=root)
    main, linked = find(root), find(folder / "tree")
    assert (main.is_linked, linked.is_linked) == (False, True)
    assert linked.common_dir == main.common_dir == repositories.common_dir(str(folder / "tree"))
    assert linked.git_dir == repositories.worktree_git_dir(str(folder / "tree")) == f"{root}/.git/worktrees/tree"


def test_only_the_top_of_a_worktree_has_a_git_directory(folder: Path) -> None:
    root = make_repository(folder / "vc")
    (root / "below").mkdir()
    assert repositories.common_dir(str(root / "below")) == f"{root}/.git"
    with pytest.raises(NotFound, match="is not the top of a worktree"):
        repositories.worktree_git_dir(str(root / "below"))


def test_folders_without_a_repository_are_refused(folder: Path) -> None:
    assert repositories.find_repository(str(folder)) is None
    assert repositories.find_repository(f"{folder}\0") is None
    with pytest.raises(NotFound, match="is not a git repository"):
        repositories.repository_at(str(folder))
    with pytest.raises(NotFound, match="There is no directory"):
        repositories.repository_at(str(folder / "missing"))


def test_a_recorded_checkout_is_returned_while_its_git_directory_is_the_same(recorded: Repository) -> None:
    assert repositories.repository_at(recorded.top) is recorded


def test_a_recorded_checkout_with_another_git_directory_is_refused(recorded: Repository, folder: Path) -> None:
    other = make_repository(folder / "other")
    git_dir = Path(recorded.top, ".git")
    git_dir.rename(folder / "kept")
    with pytest.raises(NotFound, match="is no longer a checkout"):
        repositories.repository_at(recorded.top)
    git_dir.write_text(f"gitdir: {other}/.git\n")
    with pytest.raises(Conflict, match="no longer leads to"):
        repositories.repository_at(recorded.top)
    git_dir.unlink()
    git_dir.symlink_to(folder / "kept")
    with pytest.raises(Conflict, match="no longer leads to"):
        repositories.repository_at(recorded.top)


def test_only_recorded_programs_of_a_repository_are_left_on(recorded: Repository) -> None:
    top = Path(recorded.top)
    run_git("config", "filter.mine.clean", "sed s/a/b/", cwd=top)
    (setting,) = repositories.named_programs(recorded)
    assert repositories.neutral_settings(recorded)
    from_record = frozenset({repositories.git_programs.fingerprint_setting(setting)})
    repositories.RECORDS.add_checkout(recorded, from_record)
    assert repositories.neutral_settings(recorded) == ()
    run_git("config", "filter.mine.clean", "sed s/a/evil/", cwd=top)
    assert repositories.neutral_settings(recorded) != ()


def test_the_programs_of_all_checkouts_of_a_repository_add_up(folder: Path) -> None:
    records = repositories.CheckoutRecords()
    root = make_repository(folder / "vc")
    run_git("config", "filter.one.clean", "1", cwd=root)
    run_git("config", "filter.two.clean", "2", cwd=root)
    one, two = repositories.named_programs(find(root))
    records.add_checkout(find(root), frozenset({repositories.git_programs.fingerprint_setting(one)}))
    assert records.accepts(f"{root}/.git", one) and not records.accepts(f"{root}/.git", two)
    records.add_checkout(find(root), frozenset({repositories.git_programs.fingerprint_setting(two)}))
    assert records.accepts(f"{root}/.git", one) and records.accepts(f"{root}/.git", two)
    records.drop_checkout(str(root))
    assert records.find_checkout(str(root)) is None


def test_settings_of_included_files_count_and_changes_are_noticed(folder: Path) -> None:
    root = make_repository(folder / "vc")
    included = folder / "more"
    included.write_text('[filter "x"]\n\tclean = one\n')
    run_git("config", "include.path", "../../more", cwd=root)
    assert [setting.value for setting in repositories.named_programs(find(root))] == ["one"]
    included.write_text('[filter "x"]\n\tclean = another\n')
    assert [setting.value for setting in repositories.named_programs(find(root))] == ["another"]


def test_an_include_that_only_git_can_find_is_refused(folder: Path) -> None:
    root = make_repository(folder / "vc")
    run_git("config", "include.path", "%(prefix)/etc/config", cwd=root)
    with pytest.raises(Invalid, match="only git itself can find"):
        repositories.named_programs(find(root))


def test_too_many_included_files_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "git_config_files_max", 3)
    root = make_repository(folder / "vc")
    for number in range(3):
        run_git("config", "--add", "include.path", f"{folder}/{number}", cwd=root)
    with pytest.raises(TooLarge, match="includes too many files"):
        repositories.named_programs(find(root))


def test_a_bare_repository_is_recognised_by_its_settings(folder: Path) -> None:
    run_git("init", "-q", "--bare", str(folder / "hub.git"), cwd=folder)
    assert repositories.is_bare(find(folder / "hub.git"))
    assert not repositories.is_bare(find(make_repository(folder / "vc")))


def test_a_configuration_file_must_be_plain_and_small(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert repositories.read_config(str(folder / "missing")) == []
    os.mkfifo(folder / "pipe")
    with pytest.raises(Invalid, match="is not a regular file"):
        repositories.read_config(str(folder / "pipe"))
    (folder / "large").write_text("# comment\n")
    monkeypatch.setattr(limits, "git_config_bytes_max", 9)
    with pytest.raises(TooLarge):
        repositories.read_config(str(folder / "large"))
