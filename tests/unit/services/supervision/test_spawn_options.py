"""Test the choice of tool, driver, members, rights, directory and limits of a new session."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.services.conftest import AT, DAVE, OTHER, VC, World
from tests.unit.services.supervision.conftest import add_spawn

from maestro.core import errors
from maestro.domain.conversations import DriverKind
from maestro.domain.members import Permission
from maestro.domain.projects import Workspace
from maestro.domain.sessions import SessionMode
from maestro.domain.spawns import SpawnLimits
from maestro.operations import spawning as ops
from maestro.services.supervision import spawn_options
from maestro.tools import registry
from maestro.tools.registry import Tool


async def test_the_named_tool_comes_before_the_program_and_the_tool_of_the_member(world: World) -> None:
    await world.member("ada", tool=Tool("codex"))
    read = world.store.read
    choose = spawn_options.choose_tool
    assert (await read(lambda tx: choose(tx, VC, "claude", ["true"], ["ada"]))).name == "claude"
    assert (await read(lambda tx: choose(tx, VC, None, ["true"], ["ada"]))).name == "command"
    assert (await read(lambda tx: choose(tx, VC, None, [], ["Ada"]))).name == "codex"


async def test_a_spawn_without_a_tool_is_refused_with_the_choices(world: World) -> None:
    await world.member("ada")
    with pytest.raises(errors.Invalid, match="tool of the new session is missing") as refused:
        await world.store.read(lambda tx: spawn_options.choose_tool(tx, VC, None, [], ["ada", "unknown"]))
    assert "claude" in refused.value.hint and " or " in refused.value.hint and "command" not in refused.value.hint


def test_the_first_driver_of_a_tool_is_the_default_driver() -> None:
    claude, command = registry.find_tool("claude"), registry.find_tool("command")
    assert spawn_options.choose_driver(claude, None) is next(iter(claude.abilities.drivers))
    assert spawn_options.choose_driver(claude, DriverKind.TERMINAL) is DriverKind.TERMINAL
    with pytest.raises(errors.Invalid, match="command has no driver protocol"):
        spawn_options.choose_driver(command, DriverKind.PROTOCOL)


async def test_members_are_found_once_and_unknown_members_are_refused(world: World) -> None:
    ada = await world.member("ada")
    found = await world.store.read(lambda tx: spawn_options.find_members(tx, VC, ["ada", "ada"]))
    assert [member.id for member in found] == [ada.id]
    with pytest.raises(errors.NotFound, match="vc has no member 'bob'"):
        await world.store.read(lambda tx: spawn_options.find_members(tx, VC, ["bob"]))


async def test_the_default_permission_of_a_worker_is_the_permission_of_its_member(world: World) -> None:
    ada = await world.member("ada", permission=Permission.FULL)
    assert spawn_options.usual_permission(SessionMode.EXECUTE, [ada]) is Permission.FULL
    assert spawn_options.usual_permission(SessionMode.EXECUTE, []) is not Permission.FULL
    assert spawn_options.usual_permission(SessionMode.COORDINATE, []) is Permission.PLAN


async def test_a_session_grants_no_more_than_its_own_grant(world: World) -> None:
    boss = await world.boss("boss", grant=Permission.EDIT)
    request = ops.SpawnSession(tool="claude")

    async def grant(permission: Permission) -> Permission:
        return await world.store.read(
            lambda tx: spawn_options.child_grant(tx, boss, request, tool="claude", permission=permission)
        )

    assert await grant(Permission.EDIT) is Permission.EDIT
    with pytest.raises(errors.NotPermitted):
        await grant(Permission.FULL)


async def test_a_session_is_spawned_in_the_checkout_that_contains_the_path_of_the_caller(world: World) -> None:
    second = Workspace("wsp_00000000000000000000000009", VC.id, "eve", "eve/vc", "/src/eve/vc", AT)
    await world.store.write(lambda tx: tx.projects.insert_workspace(second))

    async def choose(path: str) -> str:
        return await world.store.read(lambda tx: spawn_options.choose_directory(tx, path, VC))

    assert await choose("/src/eve/vc/deep") == "/src/eve/vc"
    assert await choose("/src/eve/vc-other") == DAVE.path
    assert await choose("") == DAVE.path


async def test_a_spawn_in_a_project_without_a_checkout_is_refused(world: World) -> None:
    with pytest.raises(errors.NotFound, match="other has no checkout"):
        await world.store.read(lambda tx: spawn_options.choose_directory(tx, "", OTHER))


def test_a_session_with_a_path_outside_of_the_checkout_starts_in_the_checkout(tmp_path: Path) -> None:
    checkout, outside = tmp_path / "vc", tmp_path / "outside"
    (checkout / "deep").mkdir(parents=True)
    outside.mkdir()
    (checkout / "link").symlink_to(outside)
    start = spawn_options.start_directory
    assert start("", str(checkout)) == str(checkout)
    assert start(str(checkout / "deep"), str(checkout)) == str((checkout / "deep").resolve())
    for path in (checkout / "deep/../../outside", checkout / "link"):
        assert start(str(path), str(checkout)) == str(checkout)


async def test_the_depth_of_spawned_sessions_is_limited(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    bounds = SpawnLimits(depth_max=1)
    await world.store.read(lambda tx: spawn_options.require_within_limits(tx, top, VC, bounds))
    with pytest.raises(errors.Conflict, match="at most 1 levels deep"):
        await world.store.read(lambda tx: spawn_options.require_within_limits(tx, boss, VC, bounds))


async def test_the_number_of_workers_of_a_coordinator_is_limited(world: World) -> None:
    boss = await world.boss("boss")
    bounds = SpawnLimits(of_one_coordinator_max=1)
    await world.store.read(lambda tx: spawn_options.require_within_limits(tx, boss, VC, bounds))
    await add_spawn(world, await world.join("worker", under=boss))
    with pytest.raises(errors.LimitReached, match="at most 1 workers"):
        await world.store.read(lambda tx: spawn_options.require_within_limits(tx, boss, VC, bounds))
    await world.store.read(lambda tx: spawn_options.require_within_limits(tx, world.dana, VC, bounds))


async def test_the_number_of_spawned_sessions_of_a_project_is_limited(world: World) -> None:
    bounds = SpawnLimits(of_one_project_max=1)
    worker = await world.join("worker")
    await world.store.read(lambda tx: spawn_options.require_within_limits(tx, world.dana, VC, bounds))
    await add_spawn(world, worker)
    with pytest.raises(errors.LimitReached, match="at most 1 spawned sessions"):
        await world.store.read(lambda tx: spawn_options.require_within_limits(tx, world.dana, VC, bounds))
    await world.store.read(lambda tx: spawn_options.require_within_limits(tx, world.dana, OTHER, bounds))
