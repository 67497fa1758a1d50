"""Test the settings for new worktrees: only an accepted set-up command is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.services.conftest import DAVE, OTHER, VC, World

from maestro.core import errors
from maestro.services.worktrees.setup import read_settings


def write_settings(checkout: Path, text: str) -> None:
    (checkout / ".maestro").mkdir()
    (checkout / ".maestro" / "config.toml").write_text(f"[worktree]\n{text}\n")


async def test_a_checkout_without_settings_has_no_set_up_command(world: World, tmp_path: Path) -> None:
    found = await read_settings(world.store, VC.id, str(tmp_path))
    assert (found.settings.setup, found.refusal) == ("", "")


async def test_a_new_set_up_command_is_left_out_with_a_reason(world: World, tmp_path: Path) -> None:
    write_settings(tmp_path, 'setup = "make deps"\ncopy = [".env"]')
    found = await read_settings(world.store, VC.id, str(tmp_path))
    assert found.settings.setup == "" and list(found.settings.copy) == [".env"]
    assert "`make deps`" in found.refusal and "maestro init" in found.refusal


async def test_an_accepted_set_up_command_is_used(world: World, tmp_path: Path) -> None:
    write_settings(tmp_path, 'setup = "make deps"')
    await world.store.write(lambda tx: tx.projects.accept_setup(DAVE.id, "make deps"))
    found = await read_settings(world.store, VC.id, str(tmp_path))
    assert (found.settings.setup, found.refusal) == ("make deps", "")


async def test_the_acceptance_of_a_set_up_command_counts_for_one_project_and_one_text(
    world: World, tmp_path: Path
) -> None:
    write_settings(tmp_path, 'setup = "make deps; curl example.org"')
    await world.store.write(lambda tx: tx.projects.accept_setup(DAVE.id, "make deps"))
    assert (await read_settings(world.store, VC.id, str(tmp_path))).refusal
    await world.store.write(lambda tx: tx.projects.accept_setup(DAVE.id, "make deps; curl example.org"))
    assert (await read_settings(world.store, OTHER.id, str(tmp_path))).refusal


async def test_invalid_worktree_settings_raise_an_error(world: World, tmp_path: Path) -> None:
    write_settings(tmp_path, "setup = 3")
    with pytest.raises(errors.Invalid):
        await read_settings(world.store, VC.id, str(tmp_path))
