"""A server that refuses a runner's report of an end learns the end from the record in the runner's folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.store.layout import SECRET, TOKEN
from maestro.testing.live import LiveServer
from maestro.testing.supervised import is_running, process_identity, wait_until
from maestro.testing.workshop import Workshop
from maestro.wire import end_record

SCRIPT = "echo $$ >> starts; while [ ! -e go ]; do sleep 0.01; done; exit 5"


@pytest.fixture
def shop(live: LiveServer, make_repo: Callable[..., Path]) -> Iterator[Workshop]:
    repo = make_repo("vc")
    assert live.run_command("init", cwd=repo).returncode == 0
    made = Workshop(live, repo)
    yield made
    made.close()


def replace_secrets(live: LiveServer) -> None:
    """Start the server with new secrets, as `maestro doctor --fix` does. The tokens of all runners become invalid."""
    live.stop()
    for name in (TOKEN, SECRET):
        (live.home / name).unlink()
    live.start()


@pytest.mark.slow
def test_a_program_whose_end_was_refused_is_not_run_again(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "one", "--", "sh", "-c", SCRIPT)
    wait_until(lambda: shop.read_words("starts"), what="the start of the program")
    note = json.loads((shop.runner_folder(made["id"]) / "runner.json").read_bytes())
    runner = (note["runner"], note["runner_started"])
    replace_secrets(shop.live)
    (shop.repo / "go").touch()
    wait_until(lambda: not is_running(runner), what="the end of the runner")
    assert "a report was dropped" in (shop.runner_folder(made["id"]) / "runner.log").read_text()
    assert shop.wait_for_session_end("one")["status"] == "failed"
    assert "exit code 5" in json.dumps(shop.call_json("session", "explain", "one"))
    wait_until(
        lambda: end_record.read_record(shop.runner_folder(made["id"])) is None, what="the removal of the record"
    )
    assert len(shop.read_words("starts")) == 1
    assert shop.run_maestro("events", "--json", "--limit", "500", "--kind", "session.resumed") == ""


@pytest.mark.slow
def test_a_program_that_ends_while_no_server_runs_is_not_run_again(shop: Workshop) -> None:
    shop.spawn_session("--name", "one", "--", "sh", "-c", SCRIPT)
    wait_until(lambda: shop.read_words("starts"), what="the start of the program")
    program = process_identity(int(shop.read_words("starts")[0]))
    shop.live.stop()
    (shop.repo / "go").touch()
    wait_until(lambda: not is_running(program), what="the end of the program")
    replace_secrets(shop.live)
    assert shop.wait_for_session_end("one")["status"] == "failed"
    assert "exit code 5" in json.dumps(shop.call_json("session", "explain", "one"))
    assert len(shop.read_words("starts")) == 1
