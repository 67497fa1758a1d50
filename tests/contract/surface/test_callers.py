"""Who may do what, the same over every way in."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.operations.sessions import END, HEARTBEAT, REGISTER, WHOAMI
from maestro.operations.tasks import CANCEL, COMPLETE, CREATE, EDIT, LIST, SHOW, START

Surface = Any


@pytest.mark.not_over("mcp", why="left to the command: the tool whoami answers with the primer")
async def test_everyone_is_told_who_they_are(surface: Surface) -> None:
    session = await surface.join("w")
    await surface.join("c", mode="coordinate")
    assert (await surface.call(WHOAMI))["role"] == "person"
    worker = await surface.call(WHOAMI, by="w")
    assert (worker["role"], worker["session"]["id"]) == ("worker", session["id"])
    assert (await surface.call(WHOAMI, by="c"))["role"] == "coordinator"


async def test_a_session_ends_its_token_with_it_and_gives_its_claims_back(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(CREATE, title="a")
    await surface.call(START, by="w", id="#1")
    await surface.call(END, by="w")
    with pytest.raises(errors.NotAuthenticated):
        await surface.call(LIST, by="w")
    task = await surface.call(SHOW, id="#1")
    assert (task["status"], task["holder"]) == ("todo", None)


async def test_a_wrong_token_is_nobody_and_not_the_person(surface: Surface) -> None:
    surface.tokens["forger"] = "mst_forged"
    with pytest.raises(errors.NotAuthenticated):
        await surface.call(LIST, by="forger")


async def test_a_session_may_look_into_another_project_but_not_touch_it(surface: Surface) -> None:
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


async def test_a_worker_sets_no_gates_and_cancels_nothing(surface: Surface) -> None:
    await surface.join("w")
    with pytest.raises(errors.NotPermitted):
        await surface.call(CREATE, by="w", title="a", gates=["true"])
    await surface.call(CREATE, by="w", title="a")
    with pytest.raises(errors.NotPermitted):
        await surface.call(CANCEL, by="w", id="#1")


async def test_a_worker_cannot_pass_its_own_review(surface: Surface) -> None:
    await surface.join("w")
    await surface.call(CREATE, title="a", gates=["sleep 20"])
    await surface.call(START, by="w", id="#1")
    assert (await surface.call(COMPLETE, by="w", id="#1"))["status"] == "in_review"
    with pytest.raises(errors.Conflict):
        await surface.call(COMPLETE, by="w", id="#1")


@pytest.mark.not_over("mcp", why="left to the command: whoever is connected is registered")
async def test_a_worker_registers_only_workers_and_only_under_itself(surface: Surface) -> None:
    session = await surface.join("w")
    await surface.join("c", mode="coordinate")
    with pytest.raises(errors.NotPermitted):
        await surface.call(REGISTER, by="w", name="x", mode="coordinate")
    with pytest.raises(errors.NotPermitted):
        await surface.call(REGISTER, by="w", name="x", parent="c")
    child = await surface.call(REGISTER, by="w", name="x")
    assert child["parent_id"] == session["id"]


@pytest.mark.not_over("mcp", why="left to the command: whoever is connected is registered")
async def test_names_are_one_persons_while_they_live(surface: Surface) -> None:
    await surface.join("w")
    with pytest.raises(errors.NameTaken):
        await surface.call(REGISTER, name="w")
    with pytest.raises(errors.Invalid):
        await surface.call(REGISTER, name="coordinator")
    await surface.call(END, by="w")
    await surface.call(REGISTER, name="w")


@pytest.mark.not_over("mcp", why="left to the command: every call is a sign of life")
async def test_a_heartbeat_is_a_sessions_own(surface: Surface) -> None:
    await surface.join("w")
    beat = await surface.call(HEARTBEAT, by="w", status="idle")
    assert beat["status"] == "idle" and beat["renewed"] == 0
    with pytest.raises(errors.Invalid):
        await surface.call(HEARTBEAT, by="w", status="lost")
    with pytest.raises(errors.NotPermitted):
        await surface.call(HEARTBEAT)


@pytest.mark.not_over("mcp", why="left to the command: whoever is connected is registered")
async def test_a_registration_under_a_key_gives_the_same_token_again(surface: Surface) -> None:
    first = await surface.call(REGISTER, key=f"{surface.project}-r1", name="w")
    assert (await surface.call(REGISTER, key=f"{surface.project}-r1", name="w"))["token"] == first["token"] != ""
