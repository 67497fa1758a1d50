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
from maestro.testing.supervised import SECONDS_MAX, wait_until
from maestro.testing.workshop import Workshop


@pytest.fixture
def shop(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    with LiveServer(tmp_path / "live") as live:
        made = Workshop(live, make_repo("vc"))
        made.run_maestro("init")
        yield made
        made.close()


def require_no_damage(shop: Workshop) -> None:
    assert shop.call_json("status")["problems"] == []
    assert not [ask for ask in shop.call_json("ask", "list")["asks"] if "damaged" in ask["title"] + ask["text"]]


def test_a_program_may_end_its_output_with_nuls(shop: Workshop) -> None:
    shop.spawn_session("--name", "nul", "--", "sh", "-c", r"printf 'abc\000\000\000\000\000'; exit 3")
    shop.wait_for_session_end("nul")
    assert "abc\ufffd" in shop.run_maestro("session", "explain", "nul")
    shop.call_json("mail", "search", "nul")
    require_no_damage(shop)


def test_a_gate_may_end_its_output_with_nuls(shop: Workshop) -> None:
    shop.create_task("Part", "--gate", r"printf 'bad\000\000\000\000\000'; false")
    shop.spawn_session("--task", "#1", "--name", "worker", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict of the gate")
    shop.run_maestro("task", "show", "#1")
    shop.run_maestro("mail", "inbox", "--peek")
    require_no_damage(shop)


def test_a_question_through_a_hook_may_end_with_nuls(shop: Workshop) -> None:
    shop.spawn_session(
        "--name", "asker", "--", "sh", "-c", 'echo "$MAESTRO_TOKEN" > token.new; mv token.new token; sleep 120'
    )
    (token,) = wait_until(lambda: shop.read_words("token"), what="the token")
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
    (ask,) = wait_until(lambda: shop.call_json("ask", "list")["asks"], what="the ask")
    assert ask["title"] == "A or B" + "\ufffd" * 5
    shop.run_maestro("ask", "answer", ask["id"], "A")
    hook.join(SECONDS_MAX)
    assert not hook.is_alive()
    require_no_damage(shop)


def test_a_text_of_an_earlier_version_may_end_with_a_nul(shop: Workshop) -> None:
    shop.create_task("Part", "--description", "old")
    shop.live.stop()
    with contextlib.closing(sqlite3.connect(shop.live.home / DATABASE)) as database, database:
        database.execute("UPDATE tasks SET description = 'old' || char(0)")
    shop.live.start()
    assert shop.call_json("task", "show", "#1")["description"] == "old\0"
    require_no_damage(shop)
