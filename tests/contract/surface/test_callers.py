"""Tests of the rights of callers, the same on every surface."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations.sessions import END, HEARTBEAT, REGISTER, WHOAMI
from maestro.operations.tasks import CANCEL, COMPLETE, CREATE, EDIT, LIST, SHOW, START

Surface = Any


@pytest.mark.not_over("mcp", why="left to the command: the tool whoami answers with the primer")
async def test_whoami_tells_person_worker_and_coordinator_their_role(surface: Surface) -> None:
    session = await surface.join("w")
    await surface.join("c", mode="coordinate")
    assert (await surface.call(WHOAMI))["role"] == "person"
    worker = await surface.call(WHOAMI, by="w")
    assert (worker["role"], worker["session"]["id"]) == ("worker", session["id"])
    assert (await surface.call(WHOAMI, by="c"))["role"] == "coordinator"


async def test_the_end_of_a_session_ends_its_token_and_releases_its_claims(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(CREATE, title="a")
    await surface.call(START, by="w", id="#1")
    await surface.call(END, by="w")
    with pytest.raises(errors.NotAuthenticated):
        await surface.call(LIST, by="w")
    task = await surface.call(SHOW, id="#1")
    assert (task["status"], task["holder"]) == ("todo", None)


async def test_a_caller_with_a_wrong_token_is_not_authenticated(surface: Surface) -> None:
    surface.tokens["forger"] = "mst_forged"
    with pytest.raises(errors.NotAuthenticated):
        await surface.call(LIST, by="forger")


async def test_a_session_can_read_another_project_but_not_change_it(surface: Surface) -> None:
    await surface.join("w")
    await surface.join("c", mode="coordinate")
    other = await surface.another_project()
    await surface.call(CREATE, project=other, title="theirs")
    assert (await surface.call(SHOW, by="w", id=f"{other}#1"))["title"] == "theirs"
    for by in ("w", "c"):
        with pytest.raises(errors.NotPermitted):
            await surface.call(CREATE, by=by, project=other, title="mine")
        with pytest.raises(errors.NotPermitted):
            await surface.call(START, by=by, id=f"{other}#1")
    with pytest.raises(errors.NotPermitted):
        await surface.call(EDIT, by="c", id=f"{other}#1", title="mine")


async def test_a_worker_can_neither_set_gates_nor_cancel_a_task(surface: Surface) -> None:
    await surface.join("w")
    with pytest.raises(errors.NotPermitted):
        await surface.call(CREATE, by="w", title="a", gates=["true"])
    await surface.call(CREATE, by="w", title="a")
    with pytest.raises(errors.NotPermitted):
        await surface.call(CANCEL, by="w", id="#1")


async def test_a_worker_cannot_complete_a_task_that_is_in_review(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(CREATE, title="a", gates=["sleep 20"])
    await surface.call(START, by="w", id="#1")
    assert (await surface.call(COMPLETE, by="w", id="#1"))["status"] == "in_review"
    with pytest.raises(errors.Conflict):
        await surface.call(COMPLETE, by="w", id="#1")


@pytest.mark.not_over("mcp", why="left to the command: whoever is connected is registered")
async def test_a_worker_registers_only_workers_and_only_below_itself(surface: Surface) -> None:
    session = await surface.join("w")
    await surface.join("c", mode="coordinate")
    with pytest.raises(errors.NotPermitted):
        await surface.call(REGISTER, by="w", name="x", mode="coordinate")
    with pytest.raises(errors.NotPermitted):
        await surface.call(REGISTER, by="w", name="x", parent="c")
    child = await surface.call(REGISTER, by="w", name="x")
    assert child["parent_id"] == session["id"]


@pytest.mark.not_over("mcp", why="left to the command: whoever is connected is registered")
async def test_a_session_name_is_taken_until_the_session_ends(surface: Surface) -> None:
    await surface.join("w")
    with pytest.raises(errors.NameTaken):
        await surface.call(REGISTER, name="w")
    with pytest.raises(errors.Invalid):
        await surface.call(REGISTER, name="coordinator")
    await surface.call(END, by="w")
    await surface.call(REGISTER, name="w")


@pytest.mark.not_over("mcp", why="left to the command: every call is a sign of life")
async def test_only_a_session_sends_a_heartbeat_and_only_with_a_live_status(surface: Surface) -> None:
    await surface.join("w")
    beat = await surface.call(HEARTBEAT, by="w", status="idle")
    assert beat["status"] == "idle" and beat["renewed"] == 0
    with pytest.raises(errors.Invalid):
        await surface.call(HEARTBEAT, by="w", status="lost")
    with pytest.raises(errors.NotPermitted):
        await surface.call(HEARTBEAT)


@pytest.mark.not_over("mcp", why="left to the command: whoever is connected is registered")
async def test_a_repeated_registration_with_the_same_key_returns_the_same_token(surface: Surface) -> None:
    first = await surface.call(REGISTER, key=f"{surface.project}-r1", name="w")
    assert (await surface.call(REGISTER, key=f"{surface.project}-r1", name="w"))["token"] == first["token"] != ""
