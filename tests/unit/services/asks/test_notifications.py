"""The person is notified of each ask once, by desktop and webhook."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from maestro.operations import asks as ops
from maestro.services.asks import asks
from maestro.services.asks.notifications import NotificationJob

World = Any


class Webhook:
    """A server on the loopback that remembers what it was told, and answers as it should."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.answer = 204
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                hook.told.append((self.path, self.headers["Content-Type"], json.loads(body)))
                self.send_response(hook.answer)
                self.end_headers()

            def log_message(self, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook()
    yield made
    made.close()


async def ask(world: World, by: Any, title: str) -> Any:
    return await world.do(asks.create_ask, ops.CreateAsk(title=title, choice=["yes", "no"]), by=by)


async def run(world: World, job: NotificationJob) -> None:
    while await job.run_once() is not None:
        pass


async def test_each_ask_is_notified_once(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    job = NotificationJob(world.store, desktop=False, webhook=webhook.url)
    assert await job.run_once() is None
    first = await ask(world, worker, "Drop it?")
    await run(world, job)
    ((path, kind, said),) = webhook.told
    assert (path, kind, said["kind"]) == ("/hook", "application/json", "ask.opened")
    assert (said["ask"]["id"], said["ask"]["asked_by"], said["ask"]["choices"]) == (first.id, "w", ["yes", "no"])
    second = await ask(world, worker, "And this?")
    await run(world, job)
    await run(world, NotificationJob(world.store, desktop=False, webhook=webhook.url))  # also after a restart
    assert [said["ask"]["id"] for _, _, said in webhook.told] == [first.id, second.id]


async def test_each_change_of_an_ask_is_notified_once(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    job = NotificationJob(world.store, desktop=False, webhook=webhook.url)
    first, second = await ask(world, worker, "Drop it?"), await ask(world, worker, "And this?")
    await run(world, job)
    await world.do(asks.answer_ask, ops.AnswerAsk(id=first.id, answer="no"))
    await world.do(asks.withdraw_ask, ops.OneAsk(id=second.id), by=worker)
    await run(world, job)
    await run(world, NotificationJob(world.store, desktop=False, webhook=webhook.url))  # also after a restart
    assert [(said["kind"], said["ask"]["id"], said["ask"]["answer"]) for _, _, said in webhook.told] == [
        ("ask.opened", first.id, None),
        ("ask.opened", second.id, None),
        ("ask.answered", first.id, "no"),
        ("ask.withdrawn", second.id, None),
    ]


async def test_the_desktop_shows_opened_and_closed_asks(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program in the place of the desktop's own that writes down how it was called."""
    said = tmp_path / "said"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {said}\necho >> {said}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":9")
    worker = await world.join("w")
    job = NotificationJob(world.store, desktop=True, webhook="")
    first, second = await ask(world, worker, "--drop it?"), await ask(world, worker, "And this?")
    await run(world, job)
    await world.do(asks.answer_ask, ops.AnswerAsk(id=first.id, answer="no"))
    await world.do(asks.withdraw_ask, ops.OneAsk(id=second.id), by=worker)
    await run(world, job)
    assert said.read_text().splitlines() == [
        "--app-name=Maestro|--|w needs you|--drop it?|",
        "--app-name=Maestro|--|w needs you|And this?|",
        "--app-name=Maestro|--|w no longer needs you|And this?|",
    ]


async def test_an_ask_that_was_answered_meanwhile_is_not_notified(world: World, webhook: Webhook) -> None:
    worker = await world.join("w")
    made = await ask(world, worker, "Drop it?")
    await world.do(asks.answer_ask, ops.AnswerAsk(id=made.id, answer="no"))
    await run(world, NotificationJob(world.store, desktop=False, webhook=webhook.url))
    assert webhook.told == []


async def test_a_failed_webhook_is_not_called_again(
    world: World, webhook: Webhook, caplog: pytest.LogCaptureFixture
) -> None:
    webhook.answer = 500
    worker = await world.join("w")
    made = await ask(world, worker, "Drop it?")
    job = NotificationJob(world.store, desktop=False, webhook=webhook.url)
    await run(world, job)
    await run(world, job)
    assert len(webhook.told) == 1 and made.id in caplog.text


async def test_an_unreachable_webhook_does_not_stop_the_job(world: World, caplog: pytest.LogCaptureFixture) -> None:
    worker = await world.join("w")
    for title in ("one", "two"):
        await ask(world, worker, title)
    gone = Webhook()
    gone.close()
    await run(world, NotificationJob(world.store, desktop=False, webhook=gone.url))
    assert caplog.text.count("could not be notified") == 2
    assert await world.store.read(lambda tx: tx.asks.list_unnotified(limit=9)) == []


async def test_without_a_channel_asks_are_only_marked_as_notified(world: World) -> None:
    worker = await world.join("w")
    await ask(world, worker, "Drop it?")
    await run(world, NotificationJob(world.store, desktop=False, webhook=""))
    assert await world.store.read(lambda tx: tx.asks.list_unnotified(limit=9)) == []
