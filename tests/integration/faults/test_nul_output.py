"""NUL characters from programs are stored as replacement characters; the server does not take them for damage."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from maestro.store.layout import DATABASE
from maestro.testing.live import LiveServer
from maestro.testing.supervised import SECONDS_MAX, until
from maestro.testing.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    with LiveServer(tmp_path / "live") as live:
        made = Workshop(live, make_repo("vc"))
        made.maestro("init")
        yield made
        made.close()


def require_no_damage(shop: Workshop) -> None:
    assert shop.json("status")["problems"] == []
    assert not [ask for ask in shop.json("ask", "list")["asks"] if "damaged" in ask["title"] + ask["text"]]


def test_a_program_may_end_its_output_with_nuls(shop: Workshop) -> None:
    shop.spawn("--name", "nul", "--", "sh", "-c", r"printf 'abc\000\000\000\000\000'; exit 3")
    shop.ended("nul")
    assert "abc\ufffd" in shop.maestro("session", "explain", "nul")
    shop.json("mail", "search", "nul")
    require_no_damage(shop)


def test_a_gate_may_end_its_output_with_nuls(shop: Workshop) -> None:
    shop.task("Part", "--gate", r"printf 'bad\000\000\000\000\000'; false")
    shop.spawn("--task", "#1", "--name", "worker", "--", "true")
    until(lambda: shop.status("#1") == "failed", what="the verdict of the gate")
    shop.maestro("task", "show", "#1")
    shop.maestro("mail", "inbox", "--peek")
    require_no_damage(shop)


def test_a_question_through_a_hook_may_end_with_nuls(shop: Workshop) -> None:
    shop.spawn(
        "--name", "asker", "--", "sh", "-c", 'echo "$MAESTRO_TOKEN" > token.new; mv token.new token; sleep 120'
    )
    (token,) = until(lambda: shop.lines("token"), what="the token")
    payload = {
        "session_id": "one",
        "hook_event_name": "PermissionRequest",
        "tool_name": "AskUserQuestion",
        "tool_input": {"questions": [{"question": "A or B" + "\0" * 5, "options": [{"label": "A"}, {"label": "B"}]}]},
    }
    headers = {"Authorization": f"Bearer {token}"}
    url = f"{shop.live.url}/hooks/claude/PermissionRequest"
    hook = threading.Thread(target=lambda: httpx.post(url, json=payload, headers=headers, timeout=SECONDS_MAX))
    hook.start()
    (ask,) = until(lambda: shop.json("ask", "list")["asks"], what="the ask")
    assert ask["title"] == "A or B" + "\ufffd" * 5
    shop.maestro("ask", "answer", ask["id"], "A")
    hook.join(SECONDS_MAX)
    assert not hook.is_alive()
    require_no_damage(shop)


def test_a_text_of_an_earlier_version_may_end_with_a_nul(shop: Workshop) -> None:
    shop.task("Part", "--description", "old")
    shop.live.stop()
    with contextlib.closing(sqlite3.connect(shop.live.home / DATABASE)) as database, database:
        database.execute("UPDATE tasks SET description = 'old' || char(0)")
    shop.live.start()
    assert shop.json("task", "show", "#1")["description"] == "old\0"
    require_no_damage(shop)
