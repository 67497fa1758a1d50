"""The settings for new worktrees: the `[worktree]` table of a project, and checkouts that can have worktrees."""

from __future__ import annotations

import pytest

from maestro.core.errors import Conflict, Invalid, NotFound
from maestro.git import worktrees
from maestro.git.worktrees import WorktreeSettings


def configure(repo, text: str | bytes) -> None:
    repo.write({".maestro/config.toml": text})


def test_a_checkout_without_a_settings_file_has_the_default_settings(repo):
    assert worktrees.read_settings(str(repo)) == WorktreeSettings()
    assert WorktreeSettings().setup_seconds == 600


def test_the_worktree_table_is_read_beside_other_settings(repo):
    configure(
        repo,
        'remote = "upstream"\n[worktree]\nsetup = "make deps"\ncopy = [".env", "config/*.local"]\nsetup_seconds = 5\n',
    )
    expected = WorktreeSettings(setup="make deps", copy=(".env", "config/*.local"), setup_seconds=5)
    assert worktrees.read_settings(str(repo)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[worktree",
        b"\xff",
        "worktree = 3",
        "[worktree]\nsetup = 3",
        '[worktree]\ncopy = ".env"',
        "[worktree]\ncopy = [1]",
        "[worktree]\nsetup_seconds = 0",
        '[worktree]\nsetup_seconds = "long"',
        '[worktree]\nsteup = "a slip"',
        '[worktree]\ncopy = ["../secret"]',
        '[worktree]\ncopy = ["/etc/passwd"]',
        '[worktree]\ncopy = ["~/.ssh/id"]',
        '[worktree]\ncopy = ["a/../../b"]',
        '[worktree]\ncopy = [".git/config"]',
        '[worktree]\ncopy = [""]',
        '[worktree]\ncopy = ["."]',
        "#" * 70_000,
    ],
)
def test_an_invalid_settings_file_is_refused_by_its_name(repo, text):
    configure(repo, text)
    with pytest.raises(Invalid, match=r"\.maestro/config\.toml cannot be used"):
        worktrees.read_settings(str(repo))


def test_an_unreadable_settings_file_is_refused(repo):
    (repo.path / ".maestro" / "config.toml").mkdir(parents=True)
    with pytest.raises(Invalid):
        worktrees.read_settings(str(repo))


def test_a_null_byte_in_the_set_up_command_is_refused():
    with pytest.raises(ValueError, match="null byte"):
        WorktreeSettings(setup="make\0deps")


@pytest.mark.parametrize(
    ("text", "command"),
    [('[worktree]\nsetup = "make deps"', "make deps"), ("", ""), ("[worktree", ""), ("[worktree]\nsetup = 3", "")],
)
def test_the_set_up_command_of_an_unusable_text_is_empty(text, command):
    assert worktrees.parse_setup(text) == command


async def test_a_checkout_with_a_commit_is_ready_for_worktrees(repo):
    configure(repo, '[worktree]\nsetup = "make"\n')
    assert await worktrees.require_ready(str(repo)) == WorktreeSettings(setup="make")


async def test_a_checkout_that_cannot_have_worktrees_is_refused_with_its_reason(repo, tmp_path):
    with pytest.raises(NotFound, match="no longer exists"):
        await worktrees.require_ready(str(tmp_path / "missing"))
    (tmp_path / "plain").mkdir()
    with pytest.raises(Conflict, match="is not in a git repository"):
        await worktrees.require_ready(str(tmp_path / "plain"))
    repo.git("init", "-q", str(tmp_path / "empty"))
    with pytest.raises(Conflict, match="has no commit yet"):
        await worktrees.require_ready(str(tmp_path / "empty"))
    configure(repo, "[worktree")
    with pytest.raises(Invalid):
        await worktrees.require_ready(str(repo))
