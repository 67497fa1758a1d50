"""Jobs run in order in a single thread; each callback runs on the event loop, also when the job fails."""

from __future__ import annotations

import asyncio
import threading

import pytest

from maestro.store.sqlite.writer_thread import WriterThread


async def test_jobs_run_in_order_in_the_writer_thread_and_callbacks_on_the_event_loop() -> None:
    thread: WriterThread[int] = WriterThread(asyncio.get_running_loop())
    seen: list[tuple[str, int, str]] = []
    done = asyncio.Event()

    def work(number: int) -> None:
        seen.append(("work", number, threading.current_thread().name))

    def follow(number: int, failure: Exception | None) -> None:
        assert failure is None
        seen.append(("then", number, threading.current_thread().name))
        if number == 2:
            done.set()

    for number in range(3):
        thread.run_in_thread(work, number, then=follow)
    await asyncio.wait_for(done.wait(), 10)
    thread.close()
    assert [number for what, number, _ in seen if what == "work"] == [0, 1, 2]
    assert [number for what, number, _ in seen if what == "then"] == [0, 1, 2]
    assert {name for what, _, name in seen if what == "work"} == {"maestro-writer"}
    assert {name for what, _, name in seen if what == "then"} == {threading.main_thread().name}


async def test_closing_the_writer_thread_waits_for_its_jobs() -> None:
    thread: WriterThread[None] = WriterThread(asyncio.get_running_loop())
    may_go_on = threading.Event()
    seen: list[str] = []

    def work(_: None) -> None:
        may_go_on.wait(10)
        seen.append("worked")

    thread.run_in_thread(work, None, then=lambda *_: None)
    asyncio.get_running_loop().call_later(0.05, may_go_on.set)
    await asyncio.to_thread(thread.close)
    assert seen == ["worked"]


async def test_after_a_failed_job_its_callback_and_the_next_job_still_run(caplog: pytest.LogCaptureFixture) -> None:
    thread: WriterThread[int] = WriterThread(asyncio.get_running_loop())
    done = asyncio.Event()

    def fail(number: int) -> None:
        if number == 0:
            raise RuntimeError("the disk is on fire")

    failures: list[str] = []
    thread.run_in_thread(fail, 0, then=lambda _, failure: failures.append(str(failure)))
    thread.run_in_thread(fail, 1, then=lambda *_: done.set())
    await asyncio.wait_for(done.wait(), 10)
    thread.close()
    assert failures == ["the disk is on fire"]
    assert "the disk is on fire" in caplog.text
