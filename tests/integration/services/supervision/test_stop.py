"""Test the stop of real programs."""

from __future__ import annotations

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "when it runs"])
def test_a_stop_ends_every_process_and_gives_the_task_back(shop: Workshop, at_once: bool) -> None:
    shop.create_task("Parser")
    shop.spawn_session("--task", "#1", "--name", "parser", "--", "sleep", "1000")
    if not at_once:
        wait_until(lambda: shop.show_session("parser")["status"] == "working", what="the start of the session")
    shop.run_maestro("session", "stop", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "stopped"
    assert shop.call_json("task", "show", "#1")["ready"]
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")
