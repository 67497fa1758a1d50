"""A session's command may open only files of the session's checkout; a refusal names the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.unit.services.conftest import DAVE, VC, World

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.client_files import FileAccess
from maestro.domain.members import Permission
from maestro.domain.spawns import SessionWorktree, Spawn
from maestro.operations.files import CheckedFile, CheckFile
from maestro.services.access.client_files import check_file
from maestro.store.base import Tx

SECRET = "/home/dana/.ssh/id_rsa"


async def check(world: World, caller: Caller | None, path: str, access: FileAccess = FileAccess.READ) -> Any:
    return await world.do(check_file, CheckFile(path=path, access=access), by=caller)


async def in_checkout(world: World) -> Caller:
    """Register a session in the checkout of dave and return its caller."""
    return msgspec.structs.replace(await world.join("w"), workspace_id=DAVE.id)


async def add_worktree(world: World, caller: Caller, path: Path) -> SessionWorktree:
    worktree = SessionWorktree(
        session_id=caller.name,
        project_id=VC.id,
        repository=DAVE.path,
        path=str(path),
        branch="w",
        base_commit="0" * 40,
        merges_into=None,
        merged_into=None,
        merged_at=None,
        removed_at=None,
        created_at=world.clock.now(),
    )
    await world.store.write(lambda tx: tx.worktrees.insert(worktree))
    return worktree


async def test_a_session_opens_files_of_its_checkout(world: World) -> None:
    worker = await in_checkout(world)
    for access in FileAccess:
        allowed = await check(world, worker, f"{DAVE.path}/docs/notes.md", access)
        assert allowed == CheckedFile(path=f"{DAVE.path}/docs/notes.md", access=access)


async def test_the_refusal_of_a_file_outside_the_checkout_names_the_checkout_and_a_remedy(world: World) -> None:
    worker = await in_checkout(world)
    with pytest.raises(errors.NotPermitted, match=f"may not read {SECRET}: the file is outside its") as refused:
        await check(world, worker, SECRET)
    assert f"maestro session grant {worker.name} full" in refused.value.hint
    assert refused.value.data == {"path": SECRET, "access": "read", "checkout": DAVE.path}


@pytest.mark.parametrize("folder", [".git", ".maestro", ".claude"])
async def test_a_session_reads_but_does_not_write_files_in_a_settings_folder(world: World, folder: str) -> None:
    worker = await in_checkout(world)
    await check(world, worker, f"{DAVE.path}/{folder}/x")
    with pytest.raises(errors.NotPermitted, match="in a settings folder"):
        await check(world, worker, f"{DAVE.path}/{folder}/x", FileAccess.WRITE)


async def test_the_person_and_a_session_with_a_full_grant_open_files_outside_the_checkout(world: World) -> None:
    trusted = msgspec.structs.replace(await in_checkout(world), grant=Permission.FULL)
    for caller in (world.dana, trusted):
        assert (await check(world, caller, SECRET, FileAccess.WRITE)).path == SECRET


async def test_a_session_without_a_checkout_opens_no_file(world: World) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.NotPermitted, match="has no checkout"):
        await check(world, worker, f"{DAVE.path}/notes.md")


async def test_a_worktree_replaces_the_checkout_until_the_worktree_is_removed(world: World, tmp_path: Path) -> None:
    worker = await in_checkout(world)
    worktree = await add_worktree(world, worker, tmp_path / "worktree")
    await check(world, worker, f"{worktree.path}/notes.md")
    with pytest.raises(errors.NotPermitted):
        await check(world, worker, f"{DAVE.path}/notes.md")
    await world.store.write(lambda tx: tx.worktrees.mark_removed(worker.name, at=tx.at))
    await check(world, worker, f"{DAVE.path}/notes.md")


async def test_a_spawned_session_opens_files_of_the_directory_of_its_program(world: World, tmp_path: Path) -> None:
    worker = await world.join("w")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)

    def write(tx: Tx) -> None:
        spawn = Spawn(
            session_id=worker.name,
            tool="claude",
            arguments=[],
            model=None,
            permission=Permission.EDIT,
            strategy="simple",
            template="execute-simple",
            directory=str(tmp_path / "link"),
            run_id=None,
            runner_pid=None,
            runner_started=None,
            exit_code=None,
            exit_signal=None,
            tail=None,
            created_at=tx.at,
            ended_at=None,
        )
        tx.spawns.insert(spawn, manifest=b"{}")

    await world.store.write(write)
    await check(world, worker, f"{tmp_path.resolve()}/notes.md")
