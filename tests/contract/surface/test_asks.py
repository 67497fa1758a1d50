"""Tests of asks, the same on every surface."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maestro.core import errors
from maestro.operations import asks, mail, sessions

Surface = Any


async def opened(surface: Surface, **fields: Any) -> list[str]:
    """Return the titles of the open asks of this project."""
    found = (await surface.call(asks.LIST, **fields))["asks"]
    return [one["title"] for one in found if one["asked_by"].startswith(surface.project)]


async def test_a_question_is_asked_shown_and_answered_by_the_person(surface: Surface) -> None:
    name = f"{surface.project}-w"
    await surface.join(name)
    ask = await surface.call(asks.CREATE, by=name, title="Which port?", message="8080 is taken.", choice=["81", "82"])
    assert (ask["kind"], ask["status"], ask["choices"]) == ("question", "open", ["81", "82"])
    assert await opened(surface) == ["Which port?"] and await opened(surface, by=name) == ["Which port?"]
    assert (await surface.call(sessions.SHOW, id=name))["status"] == "needs_input"
    assert (await surface.call(asks.SHOW, by=name, id=ask["id"])) == ask
    with pytest.raises(errors.NotPermitted):
        await surface.call(asks.ANSWER, by=name, id=ask["id"], answer="1")
    answered = await surface.call(asks.ANSWER, id=ask["id"], answer="2")
    assert (answered["status"], answered["answer"]) == ("answered", "82")
    (message,) = (await surface.call(mail.INBOX, by=name, peek=True))["messages"]
    assert (message["subject"], message["body"]) == ("Answer: Which port?", "82")
    assert (await surface.call(sessions.SHOW, id=name))["status"] == "working"
    assert await opened(surface) == [] and await opened(surface, all=True) == ["Which port?"]
    with pytest.raises(errors.Conflict):
        await surface.call(asks.ANSWER, id=ask["id"], answer="1")


async def test_a_permission_is_answered_with_one_of_the_choices(surface: Surface) -> None:
    await surface.join("w")
    ask = await surface.call(asks.CREATE, by="w", title="Run rm?", kind="permission")
    with pytest.raises(errors.Invalid):
        await surface.call(asks.ANSWER, id=ask["id"], answer="perhaps")
    assert (await surface.call(asks.ANSWER, id=ask["id"], answer="Allow"))["answer"] == "allow"


async def test_a_session_waits_for_an_answer_and_a_wait_without_answer_times_out(surface: Surface) -> None:
    await surface.join("w")
    ask = await surface.call(asks.CREATE, by="w", title="Port?")
    waits = asyncio.create_task(surface.call(asks.WAIT, by="w", id=ask["id"], timeout=30_000))
    await surface.call(asks.ANSWER, id=ask["id"], answer="Use 8081.")
    assert (await waits)["answer"] == "Use 8081."
    with pytest.raises(errors.TimedOut) as refused:
        await surface.call(asks.CREATE, by="w", title="And the host?", wait=True, timeout=50)
    assert refused.value.data["id"].startswith("ask_")


async def test_a_query_by_mail_is_a_question_and_the_reply_is_the_answer(surface: Surface) -> None:
    name = f"{surface.project}-w"
    await surface.join(name)
    sent = await surface.call(mail.SEND, by=name, to=["human"], type="query", subject="Port?", message="?")
    assert await opened(surface) == ["Port?"]
    await surface.call(mail.REPLY, id=sent["id"], message="8081")
    assert await opened(surface) == []


async def test_the_session_the_person_and_the_end_of_the_session_withdraw_asks(surface: Surface) -> None:
    name = f"{surface.project}-w"
    await surface.join(name)
    await surface.join("x")
    one, two, three = [await surface.call(asks.CREATE, by=name, title=str(number)) for number in range(3)]
    with pytest.raises(errors.NotPermitted):
        await surface.call(asks.WITHDRAW, by="x", id=one["id"])
    assert (await surface.call(asks.WITHDRAW, by=name, id=one["id"]))["status"] == "withdrawn"
    assert (await surface.call(asks.WITHDRAW, id=two["id"]))["status"] == "withdrawn"
    await surface.call(sessions.END, by=name)
    assert (await surface.call(asks.SHOW, id=three["id"]))["status"] == "withdrawn"
    assert await opened(surface) == []


async def test_a_session_sees_only_asks_of_its_project_and_only_sessions_can_ask(surface: Surface) -> None:
    await surface.join("w")
    other = await surface.another_project()
    await surface.join("far", project=other)
    ask = await surface.call(asks.CREATE, by="w", title="Ours?")
    with pytest.raises(errors.NotFound):
        await surface.call(asks.SHOW, by="far", id=ask["id"])
    with pytest.raises(errors.NotPermitted):
        await surface.call(asks.CREATE, title="Mine?")
    with pytest.raises(errors.NotFound):
        await surface.call(asks.ANSWER, id="ask_none", answer="x")
