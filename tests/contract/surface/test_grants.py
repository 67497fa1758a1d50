"""Tests of grants, the same on every surface: no surface starts a program that the caller's grant does not cover."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import runs, session_settings, sessions, spawning, tasks

Surface = Any


async def test_a_program_or_a_level_above_the_grant_is_refused(surface: Surface) -> None:
    await surface.join("boss", mode="coordinate")
    made = await surface.call(tasks.CREATE, by="boss", title="Parser")
    for fields in (
        {"arguments": ["true"]},
        {"tool": "command"},
        {"tool": "claude", "arguments": ["--debug"]},
        {"tool": "claude", "permission": "full"},
        {"tool": "claude", "allow": ["shell:*"]},
    ):
        with pytest.raises(errors.NotPermitted) as refused:
            await surface.call(spawning.SPAWN, by="boss", dry_run=True, **fields)
        assert "has the grant edit" in str(refused.value) and "maestro session grant" in refused.value.hint
    for fields in ({"arguments": ["true"]}, {"tool": "command"}, {"tool": "claude", "allow": ["shell:*"]}):
        with pytest.raises(errors.NotPermitted):
            await surface.call(runs.START, by="boss", task=made["id"], detach=True, **fields)
    assert (await surface.call(runs.LIST, by="boss"))["runs"] == []


async def test_a_known_tool_within_the_grant_is_permitted(surface: Surface) -> None:
    await surface.join("boss", mode="coordinate")
    shown = await surface.call(spawning.SPAWN, by="boss", tool="claude", dry_run=True)
    assert (shown["permission"], shown["grant"], shown["manifest"]["grant"]) == ("edit", "edit", "edit")


async def test_a_grant_that_the_person_sets_applies_to_the_next_call(surface: Surface) -> None:
    boss = await surface.join("boss", mode="coordinate")
    shown = await surface.call(sessions.SHOW, by="boss", id="boss")
    assert shown["grant"] == "edit"
    with pytest.raises(errors.NotPermitted):
        await surface.call(session_settings.GRANT, by="boss", id=boss["id"], grant="full")
    assert (await surface.call(session_settings.GRANT, id=boss["id"], grant="full"))["grant"] == "full"
    shown = await surface.call(spawning.SPAWN, by="boss", arguments=["true"], dry_run=True)
    assert shown["tool"] == "command"
