"""From a directory to its project and workspace."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.git import git_program
from maestro.operations import projects
from maestro.operations.projects import EditProject, InitProject, LocateProject, ProjectLocation
from maestro.server.app import Server

MakeRepo = Callable[..., Path]


async def locate(server: Server, caller: Caller, path: Path) -> ProjectLocation:
    place = await server.call(projects.LOCATE, LocateProject(path=str(path)), caller=caller)
    assert isinstance(place, ProjectLocation)
    return place


async def test_a_second_claim_to_a_name_gets_a_number(server: Server, dana: Caller, make_repo: MakeRepo) -> None:
    first = await locate(server, dana, make_repo("vc", folder="a/dave"))
    second = await locate(server, dana, make_repo("vc", folder="b/dave"))
    assert (first.workspace.address, second.workspace.address) == ("dave/vc", "dave-2/vc")
    assert first.project.id == second.project.id


async def test_two_projects_of_one_name_stay_two(server: Server, dana: Caller, make_repo: MakeRepo) -> None:
    first = await locate(server, dana, make_repo("vc", folder="a", remote="git@github.com:acme/vc.git"))
    second = await locate(server, dana, make_repo("vc", folder="b", remote="git@github.com:other/vc.git"))
    assert (first.project.name, second.project.name) == ("vc", "vc-2")


async def test_a_subfolder_belongs_to_its_checkout(server: Server, dana: Caller, make_repo: MakeRepo) -> None:
    repo = make_repo("vc")
    (repo / "deep" / "down").mkdir(parents=True)
    assert (await locate(server, dana, repo / "deep" / "down")).workspace.path == str(repo)


async def test_git_is_asked_only_when_something_changed(
    server: Server, dana: Caller, make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo("vc")
    await locate(server, dana, repo)
    asked = []
    real = git_program.checkout_at

    async def counted(directory: str, *, asks_root: bool) -> object:
        asked.append(directory)
        return await real(directory, asks_root=asks_root)

    monkeypatch.setattr(git_program, "checkout_at", counted)
    for _ in range(3):
        await locate(server, dana, repo)
    assert asked == []
    subprocess.run(["git", "-C", repo, "remote", "set-url", "origin", "git@github.com:acme/moved.git"], check=True)
    moved = await locate(server, dana, repo)
    assert len(asked) == 1
    assert moved.project.key == "github.com/acme/moved" and moved.workspace.address == "dave/moved"
    assert any("its remote has changed" in note for note in moved.notes)


async def test_a_fork_counts_as_its_upstream_when_it_says_so(
    server: Server, dana: Caller, make_repo: MakeRepo
) -> None:
    fork = make_repo("vc", remote="git@github.com:dave/vc.git")
    subprocess.run(["git", "-C", fork, "remote", "add", "upstream", "git@github.com:acme/vc.git"], check=True)
    assert (await locate(server, dana, fork)).project.key == "github.com/dave/vc"
    (fork / ".maestro").mkdir()
    (fork / ".maestro" / "config.toml").write_text('remote = "upstream"\n')
    assert (await locate(server, dana, fork)).project.key == "github.com/acme/vc"


async def test_a_plain_directory_is_registered_only_by_intent(server: Server, dana: Caller, tmp_path: Path) -> None:
    plain = tmp_path / "notes"
    (plain / "sub").mkdir(parents=True)
    with pytest.raises(errors.NotFound):
        await locate(server, dana, plain)
    await server.call(projects.INIT, InitProject(path=str(plain)), caller=dana)
    assert (await locate(server, dana, plain / "sub")).project.name == "notes"


async def test_a_deleted_repository_gives_its_path_free(server: Server, dana: Caller, make_repo: MakeRepo) -> None:
    repo = make_repo("kettle", remote=None)
    first = await locate(server, dana, repo)
    subprocess.run(["git", "-C", repo, "remote", "add", "origin", "git@github.com:acme/kettle.git"], check=True)
    assert (await locate(server, dana, repo)).project.id == first.project.id
    subprocess.run(["rm", "-rf", repo], check=True)
    other = make_repo("kettle", remote=None)
    assert (await locate(server, dana, other)).project.id != first.project.id


async def test_names_can_be_given_and_taken(server: Server, dana: Caller, make_repo: MakeRepo) -> None:
    repo = make_repo("vc")
    named = await server.call(projects.INIT, InitProject(path=str(repo), name="Engine"), caller=dana)
    assert named.project.name == "engine"
    other = make_repo("other")
    with pytest.raises(errors.NameTaken):
        await server.call(projects.INIT, InitProject(path=str(other), name="engine"), caller=dana)
    with pytest.raises(errors.Invalid):
        await server.call(projects.INIT, InitProject(path=str(other), name="human"), caller=dana)
    await server.call(projects.EDIT, EditProject(project="engine", name="motor"), caller=dana)
    assert (await locate(server, dana, repo)).workspace.address == "dave/motor"


async def test_only_the_persons_init_asks_for_the_first_commit(
    server: Server, dana: Caller, make_repo: MakeRepo, join: Callable[..., Awaitable[Caller]]
) -> None:
    repo = make_repo("kettle", remote=None)
    subprocess.run(["git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    first = await locate(server, dana, repo)
    assert first.project.key == f"path:{repo}" and any("maestro init" in note for note in first.notes)
    worker = await join("w", project=first.project.id)
    server.project_locator.forget_locations()
    assert (await locate(server, worker, repo)).project == first.project
    named = await server.call(projects.INIT, InitProject(path=str(repo)), caller=dana)
    assert named.project.id == first.project.id and named.project.key.startswith("root:")
    server.project_locator.forget_locations()
    assert (await locate(server, worker, repo)).project == named.project
    linked = repo.parent / "linked"
    subprocess.run(["git", "-C", repo, "worktree", "add", "-q", str(linked)], check=True)
    assert (await locate(server, worker, linked)).project == named.project


async def test_a_session_in_an_unknown_checkout_without_a_remote_is_told_what_to_do(
    server: Server, dana: Caller, make_repo: MakeRepo, join: Callable[..., Awaitable[Caller]]
) -> None:
    repo = make_repo("kettle", remote=None)
    with pytest.raises(errors.NotPermitted) as refused:
        await locate(server, await join("w"), repo)
    assert "maestro init" in refused.value.hint


async def test_addresses_read_without_git_are_those_that_git_gives(
    server: Server, dana: Caller, make_repo: MakeRepo
) -> None:
    subprocess.run(["git", "config", "--global", "url.git@github.com:.insteadOf", "gh:"], check=True)
    repo = make_repo("vc", remote="gh:acme/vc")
    first = await locate(server, dana, repo)
    assert first.project.key == "github.com/acme/vc"
    server.project_locator.forget_locations()
    assert (await locate(server, dana, repo)).project == first.project
