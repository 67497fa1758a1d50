"""The locator finds or registers the project and the workspace of a directory, within the rights of the caller."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.git import git_program
from maestro.operations import projects as ops
from maestro.operations.projects import EditProject
from maestro.server.app import Server
from maestro.services.projects import registry

World = Any
Checkouts = Any
MakeRepo = Callable[..., Path]


async def test_a_second_checkout_with_the_same_name_gets_a_number(checkouts: Checkouts, make_repo: MakeRepo) -> None:
    first = await checkouts.locate(make_repo("engine", folder="a/dave"))
    second = await checkouts.locate(make_repo("engine", folder="b/dave"))
    assert (first.workspace.address, second.workspace.address) == ("dave/engine", "dave-2/engine")
    assert first.project.id == second.project.id


async def test_two_projects_with_the_same_name_stay_apart(checkouts: Checkouts, make_repo: MakeRepo) -> None:
    first = await checkouts.locate(make_repo("engine", folder="a", remote="git@github.com:acme/engine.git"))
    second = await checkouts.locate(make_repo("engine", folder="b", remote="git@github.com:other/engine.git"))
    assert (first.project.name, second.project.name) == ("engine", "engine-2")


async def test_a_subfolder_of_a_checkout_is_located_in_the_workspace_of_the_checkout(
    checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    repo = make_repo("engine")
    (repo / "deep" / "down").mkdir(parents=True)
    assert (await checkouts.locate(repo / "deep" / "down")).workspace.path == str(repo)


async def test_a_new_project_is_logged_and_noted_once(
    world: World, checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    repo = make_repo("engine")
    located = await checkouts.locate(repo)
    assert located.notes == ["Registered project engine (github.com/acme/engine)."]
    assert (await checkouts.locate(repo)).notes == []
    kinds = [event.kind for event in await world.log()]
    assert kinds == ["project.created", "workspace.created"]


async def test_git_runs_again_only_after_a_change_of_the_checkout(
    checkouts: Checkouts, make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo("engine")
    await checkouts.locate(repo)
    calls = []
    read_with_git = git_program.checkout_at

    async def count_call(directory: str, *, asks_root: bool) -> object:
        calls.append(directory)
        return await read_with_git(directory, asks_root=asks_root)

    monkeypatch.setattr(git_program, "checkout_at", count_call)
    for _ in range(3):
        await checkouts.locate(repo)
    assert calls == []
    subprocess.run(["git", "-C", repo, "remote", "set-url", "origin", "git@github.com:acme/moved.git"], check=True)
    moved = await checkouts.locate(repo)
    assert len(calls) == 1
    assert moved.project.key == "github.com/acme/moved" and moved.workspace.address == "dave/moved"
    assert any("its remote has changed" in note for note in moved.notes)


async def test_the_settings_of_a_fork_choose_the_remote_that_identifies_the_project(
    checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    fork = make_repo("engine", remote="git@github.com:dave/engine.git")
    subprocess.run(["git", "-C", fork, "remote", "add", "upstream", "git@github.com:acme/engine.git"], check=True)
    assert (await checkouts.locate(fork)).project.key == "github.com/dave/engine"
    checkouts.write_settings(fork, 'remote = "upstream"\n')
    assert (await checkouts.locate(fork)).project.key == "github.com/acme/engine"


@pytest.mark.parametrize("text", ["remote = 7\n", "[remote", b"\xff"])
async def test_settings_without_a_readable_remote_leave_the_default_remote(
    checkouts: Checkouts, make_repo: MakeRepo, text: str | bytes
) -> None:
    repo = make_repo("engine")
    checkouts.write_settings(repo, "")
    (repo / ".maestro" / "config.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert (await checkouts.locate(repo)).project.key == "github.com/acme/engine"


async def test_a_plain_directory_is_registered_only_on_request(checkouts: Checkouts, tmp_path: Path) -> None:
    plain = tmp_path / "notes"
    (plain / "sub").mkdir(parents=True)
    with pytest.raises(errors.NotFound, match="not in a git checkout and not registered"):
        await checkouts.locate(plain)
    await checkouts.init(plain)
    assert (await checkouts.locate(plain / "sub")).project.name == "notes"
    with pytest.raises(errors.NotFound, match="There is no directory"):
        await checkouts.init(tmp_path / "missing")


async def test_a_new_repository_at_the_path_of_a_deleted_repository_is_another_project(
    checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    repo = make_repo("kettle", remote=None)
    first = await checkouts.locate(repo)
    subprocess.run(["git", "-C", repo, "remote", "add", "origin", "git@github.com:acme/kettle.git"], check=True)
    assert (await checkouts.locate(repo)).project.id == first.project.id
    subprocess.run(["rm", "-rf", repo], check=True)
    other = make_repo("kettle", remote=None)
    assert (await checkouts.locate(other)).project.id != first.project.id


async def test_the_person_names_and_renames_projects(world: World, checkouts: Checkouts, make_repo: MakeRepo) -> None:
    repo = make_repo("engine")
    assert (await checkouts.init(repo, name="Turbine")).project.name == "turbine"
    other = make_repo("boiler")
    with pytest.raises(errors.NameTaken):
        await checkouts.init(other, name="turbine")
    with pytest.raises(errors.Invalid, match="'human' is a reserved word"):
        await checkouts.init(other, name="human")
    await world.do(registry.edit_project, EditProject(project="turbine", name="motor"))
    checkouts.locator.forget_locations()
    assert (await checkouts.locate(repo)).workspace.address == "dave/motor"
    assert (await checkouts.init(repo, name="engine")).project.name == "engine"


async def test_a_running_server_forgets_the_locations_of_a_renamed_project(
    server: Server, dana: Caller, make_repo: MakeRepo
) -> None:
    request = ops.LocateProject(path=str(make_repo("engine")))
    await server.call(ops.LOCATE, request, caller=dana)
    await server.call(ops.EDIT, EditProject(project="engine", name="motor"), caller=dana)
    located = await server.call(ops.LOCATE, request, caller=dana)
    assert located.workspace.address == "dave/motor"


async def test_only_init_by_the_person_identifies_a_project_by_its_first_commit(
    world: World, checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    repo = make_repo("kettle", remote=None)
    subprocess.run(["git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    first = await checkouts.locate(repo)
    assert first.project.key == f"path:{repo}" and any("maestro init" in note for note in first.notes)
    worker = await world.join("w", project=first.project.id)
    checkouts.locator.forget_locations()
    assert (await checkouts.locate(repo, by=worker)).project == first.project
    named = await checkouts.init(repo)
    assert named.project.id == first.project.id and named.project.key.startswith("root:")
    checkouts.locator.forget_locations()
    assert (await checkouts.locate(repo, by=worker)).project == named.project
    linked = repo.parent / "linked"
    subprocess.run(["git", "-C", repo, "worktree", "add", "-q", str(linked)], check=True)
    assert (await checkouts.locate(linked, by=worker)).project == named.project


async def test_a_session_in_an_unknown_checkout_without_a_remote_gets_the_remedy(
    world: World, checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    repo = make_repo("kettle", remote=None)
    with pytest.raises(errors.NotPermitted) as refused:
        await checkouts.locate(repo, by=await world.join("w"))
    assert "maestro init" in refused.value.hint


async def test_a_session_neither_renames_nor_registers_projects(
    world: World, checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    engine = (await checkouts.locate(make_repo("engine"))).project
    worker = await world.join("w", project=engine.id)
    other = make_repo("boiler")
    with pytest.raises(errors.NotPermitted):
        await checkouts.init(other, by=worker)
    await checkouts.init(other)
    with pytest.raises(errors.NotPermitted):
        await checkouts.init(other, by=worker, name="mine")
    clone = make_repo("engine", folder="src/fred")
    located = await checkouts.init(clone, by=worker)
    assert located.workspace.address == "fred/engine", "a session may add checkouts of its own project"


async def test_an_address_is_rewritten_in_the_same_way_with_and_without_git(
    checkouts: Checkouts, make_repo: MakeRepo
) -> None:
    subprocess.run(["git", "config", "--global", "url.git@github.com:.insteadOf", "gh:"], check=True)
    repo = make_repo("engine", remote="gh:acme/engine")
    first = await checkouts.locate(repo)
    assert first.project.key == "github.com/acme/engine"
    checkouts.locator.forget_locations()
    assert (await checkouts.locate(repo)).project == first.project


async def test_a_pipe_instead_of_a_settings_file_or_git_file_does_not_block_the_caller(
    checkouts: Checkouts, make_repo: MakeRepo, tmp_path: Path
) -> None:
    repo = make_repo("piped")
    (repo / ".maestro").mkdir()
    os.mkfifo(repo / ".maestro" / "config.toml")
    assert (await checkouts.locate(repo)).project.name == "piped"
    plain = tmp_path / "plain"
    plain.mkdir()
    os.mkfifo(plain / ".git")
    with pytest.raises(errors.MaestroError):
        await checkouts.locate(plain)
