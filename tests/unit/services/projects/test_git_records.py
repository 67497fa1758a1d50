"""A git record stores the repository of a checkout and the programs in its configuration that the person accepted."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.domain import git_programs
from maestro.domain.git_config import GitSetting
from maestro.domain.git_programs import GitRecord
from maestro.git.repositories import RECORDS
from maestro.services.projects import git_records

World = Any
MakeRepo = Callable[..., Path]
FILTER = GitSetting("filter.images.clean", "compress")


@pytest.fixture
def repo(make_repo: MakeRepo) -> Path:
    """Create a repository that names a program in its configuration, and return its path."""
    path = make_repo("engine")
    subprocess.run(["git", "-C", path, "config", FILTER.key, FILTER.value], check=True)
    return path


async def put(world: World, record: GitRecord, *, by: Any = None, renews: bool) -> GitRecord | None:
    stored: GitRecord | None = await world.store.write(
        lambda tx: git_records.put_record(tx, by or world.dana, record, renews=renews)
    )
    return stored


def test_a_record_holds_the_programs_only_if_the_programs_are_accepted(repo: Path) -> None:
    accepted = git_records.record_of(str(repo), accepts_programs=True)
    assert (accepted.git_dir, accepted.common_dir) == (f"{repo}/.git", f"{repo}/.git")
    assert accepted.programs == {git_programs.fingerprint_setting(FILTER)}
    assert git_records.record_of(str(repo), accepts_programs=False).programs == frozenset()


def test_a_directory_that_is_no_checkout_has_a_record_without_a_repository(repo: Path, tmp_path: Path) -> None:
    (repo / "sub").mkdir()
    for directory in (tmp_path, repo / "sub"):
        record = git_records.record_of(str(directory), accepts_programs=True)
        assert (record.path, record.git_dir, record.programs) == (str(directory), "", frozenset())


def test_an_unreadable_configuration_names_no_program(repo: Path) -> None:
    (repo / ".git" / "config").write_text("[filter")
    record = git_records.record_of(str(repo), accepts_programs=True)
    assert record.git_dir == f"{repo}/.git" and record.programs == frozenset()


async def test_only_the_person_renews_a_record_and_only_on_request(world: World, repo: Path) -> None:
    without = git_records.record_of(str(repo), accepts_programs=False)
    accepted = git_records.record_of(str(repo), accepts_programs=True)
    worker = await world.join("w")
    assert await put(world, without, by=worker, renews=False) == without
    assert await put(world, accepted, by=worker, renews=True) is None
    assert await put(world, accepted, renews=False) is None
    assert await world.store.read(lambda tx: tx.git_records.get(str(repo))) == without
    assert await put(world, accepted, renews=True) == accepted
    assert await world.store.read(lambda tx: tx.git_records.get(str(repo))) == accepted


async def test_a_loaded_record_accepts_the_recorded_programs_only(world: World, repo: Path) -> None:
    await put(world, git_records.record_of(str(repo), accepts_programs=True), renews=False)
    assert RECORDS.find_checkout(str(repo)) is None
    await git_records.load_records(world.store)
    found = RECORDS.find_checkout(str(repo))
    assert found is not None and RECORDS.accepts(found.common_dir, FILTER)
    assert not RECORDS.accepts(found.common_dir, GitSetting(FILTER.key, "another command"))


async def test_a_record_of_an_earlier_version_accepts_the_present_programs_once(
    world: World, repo: Path, tmp_path: Path
) -> None:
    await put(world, git_records.record_of(str(repo), accepts_programs=False), renews=False)
    with contextlib.closing(sqlite3.connect(tmp_path / "maestro.db", isolation_level=None)) as connection:
        connection.execute("UPDATE git_records SET programs = NULL")  # as after the migration
    await git_records.load_records(world.store)
    stored = await world.store.read(lambda tx: tx.git_records.get(str(repo)))
    assert stored.programs == {git_programs.fingerprint_setting(FILTER)}
    subprocess.run(["git", "-C", repo, "config", "filter.later.clean", "steal"], check=True)
    await git_records.load_records(world.store)
    assert await world.store.read(lambda tx: tx.git_records.get(str(repo))) == stored


def test_a_record_without_a_repository_is_not_remembered(tmp_path: Path) -> None:
    git_records.remember_record(git_records.record_of(str(tmp_path), accepts_programs=True))
    assert RECORDS.find_checkout(str(tmp_path)) is None
