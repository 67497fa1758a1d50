"""Git commands for worktrees: fixed settings, exit codes, retries and printable names."""

from __future__ import annotations

import os

import pytest

from maestro.core import limits
from maestro.core.errors import MaestroError
from maestro.git.worktrees import commands


async def test_settings_of_the_person_do_not_change_the_output(repo):
    repo.write({"käse": "1"})
    repo.git("config", "core.quotePath", "true")
    repo.git("config", "color.ui", "always")
    assert await commands.run_git("status", "--porcelain", cwd=str(repo)) == "?? käse\n"


async def test_settings_for_one_command_are_applied(repo):
    assert await commands.run_git("config", "test.key", cwd=str(repo), config=("test.key=value",)) == "value\n"


async def test_a_predicate_is_false_for_exit_code_1_and_an_error_for_others(repo):
    head = repo.tip("HEAD")
    assert await commands.run_predicate("merge-base", "--is-ancestor", head, head, cwd=str(repo))
    assert not await commands.run_predicate("check-ref-format", "a..b", cwd=str(repo))
    with pytest.raises(MaestroError) as failed:
        await commands.run_predicate("merge-base", "--is-ancestor", "missing", head, cwd=str(repo))
    assert commands.exit_code(failed.value) == 128


async def test_reading_a_line_gives_none_when_git_finds_nothing(repo):
    assert await commands.read_line("config", "user.name", cwd=str(repo)) == "Test"
    assert await commands.read_line("config", "no.such", cwd=str(repo)) is None
    with pytest.raises(MaestroError):
        await commands.read_line("config", "--no-such-option", cwd=str(repo))


async def test_git_worktree_is_tried_again_only_after_a_fatal_error(repo, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "worktree_retry_milliseconds", 1)
    log = tmp_path / "log"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    def fail_with(code: int) -> None:
        log.write_text("")
        program.write_text(f"#!/bin/sh\necho call >> {log}\nexit {code}\n")
        program.chmod(0o755)

    fail_with(128)
    with pytest.raises(MaestroError):
        await commands.run_git_worktree("list", cwd=str(repo))
    assert len(log.read_text().splitlines()) == limits.worktree_attempts_max
    fail_with(129)
    with pytest.raises(MaestroError):
        await commands.run_git_worktree("list", cwd=str(repo))
    assert log.read_text().splitlines() == ["call"]


def test_an_error_of_a_git_that_did_not_run_has_no_exit_code():
    assert commands.exit_code(MaestroError("git did not run")) is None


@pytest.mark.parametrize(("name", "printable"), [("plain", "plain"), ("käse", "käse"), (b"caf\xe9", "caf\\xe9")])
def test_a_name_that_is_not_utf_8_is_escaped(name, printable):
    assert commands.printable_name(os.fsdecode(name)) == printable
