"""Runs whose server, runners or agents are killed: the sessions are reconciled, and the run has the same outcome."""

from __future__ import annotations

import json
import os
import signal

import pytest

from maestro.runner import process_tree
from maestro.testing.supervised import is_running, process_identity, wait_until
from maestro.testing.workshop import Workshop

SLOW = 'echo "$MAESTRO_TASK_IDS" >> began; sleep 0.2; echo "$MAESTRO_TASK_IDS" >> order'


def test_a_run_continues_after_the_server_was_killed(shop: Workshop) -> None:
    shop.create_task("All of it")
    made = [shop.create_task("Part", "--parent", "#1")]
    for _ in range(7):
        made.append(shop.create_task("Part", "--parent", "#1", "--depends-on", made[-1]["ref"]))
    run_id = shop.start_run("#1", "--max-parallel", "3", "--", "sh", "-c", SLOW)
    for count in (1, 3, 5):
        wait_until(lambda many=count: len(shop.read_words("began")) >= many, what="some starts")  # type: ignore[misc]
        shop.live.kill()
        shop.live.start()
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
    assert shop.read_words("order") == [one["id"] for one in made]
    assert shop.read_words("began") == shop.read_words("order")


def test_no_task_runs_twice_after_the_server_was_killed_at_the_start(shop: Workshop) -> None:
    shop.create_task("All of it")
    made = [shop.create_task("Part", "--parent", "#1") for _ in range(4)]
    run_id = shop.start_run("#1", "--", "sh", "-c", SLOW)
    shop.live.kill()
    shop.live.start()
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
    assert sorted(shop.read_words("began")) == sorted(one["id"] for one in made)


def test_an_agent_that_ends_without_a_server_is_reported_to_the_next_server(shop: Workshop) -> None:
    shop.create_task("Parser")
    made = shop.spawn_session(
        "--task", "#1", "--name", "parser", "--", "sh", "-c", "echo up > up; while [ ! -e go ]; do sleep 0.01; done"
    )
    wait_until(lambda: shop.read_words("up"), what="the start of the program")
    shop.live.kill()
    (shop.repo / "go").touch()
    spool = shop.runner_folder(made["id"]) / "spool.json"
    wait_until(lambda: spool.exists() and "exited" in spool.read_text(), what="the report of the end in the spool")
    shop.live.start()
    assert shop.wait_for_session_end("parser")["status"] == "completed"
    assert shop.task_status("#1") == "completed"


def test_the_task_of_a_killed_runner_gets_another_attempt(shop: Workshop) -> None:
    shop.create_task("Parser")
    script = "echo $$ >> n; test $(wc -l < n) -ge 2 || exec sleep 1000"
    run_id = shop.start_run("#1", "--", "sh", "-c", script)
    wait_until(lambda: shop.read_words("n"), what="the start of the program")
    note = wait_until(shop.runner_notes, what="the identity file of the runner")[0]
    assert process_tree.process_start(note["runner"]) == note["runner_started"]
    os.kill(note["runner"], signal.SIGKILL)
    over = shop.wait_for_run_end(run_id)
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)
    (lost,) = [one for one in shop.call_json("session", "list")["sessions"] if one["status"] == "lost"]
    assert "runner is gone" in json.dumps(shop.call_json("session", "explain", lost["id"]))
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")


def test_the_task_of_a_crashed_agent_gets_another_attempt(shop: Workshop) -> None:
    shop.create_task("Parser")
    over = shop.run_to_end("#1", "--", "sh", "-c", "echo x >> n; test $(wc -l < n) -ge 2 || kill -KILL $$")
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)


def test_all_processes_of_an_agent_end_after_its_runner_was_killed(shop: Workshop) -> None:
    made = shop.spawn_session(
        "--name", "parser", "--", "sh", "-c",
        "sleep 1000 & echo $! > child; (setsid sh -c 'echo $$ > stray; exec sleep 1000' &); "
        "setsid sh -c 'echo $$ > deep; sleep 1000 & echo $! > deeper; wait' & wait",
    )  # fmt: skip
    names = ("child", "stray", "deep", "deeper")
    wait_until(lambda: all(shop.read_words(name) for name in names), what="the start of all processes")
    everyone = [process_identity(int(shop.read_words(name)[0])) for name in names]
    assert all(map(is_running, everyone))
    note = json.loads((shop.runner_folder(made["id"]) / "runner.json").read_bytes())
    os.kill(note["runner"], signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, everyone)), what="the end of all processes of the agent")
    wait_until(lambda: "session.resumed" in shop.run_maestro("events"), what="the next start of the session")
    wait_until(lambda: shop.show_session("parser")["status"] == "working", what="the report of the runner")
    shop.run_maestro("session", "stop", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "stopped"
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")


def test_a_session_whose_set_up_runs_is_not_started_again(shop: Workshop) -> None:
    slow = "echo x >> ../../../set-up; while [ ! -e ../../../go ]; do sleep 0.01; done"
    settle(shop, slow)
    shop.create_task("Parser")
    run_id = shop.start_run("#1", "--attempts", "1", "--worktree", "--", "sh", "-c", "echo x >> ../../../ran")
    home = shop.live.home
    wait_until((home / "set-up").exists, what="the start of the set-up command")
    for name in (
        "other",
        "another",
    ):  # after the end of a runner the server checks all sessions; the second end leaves time for a wrong start
        shop.spawn_session("--name", name, "--", "true")
        shop.wait_for_session_end(name)
        wait_until(lambda: not shop.remaining_pids(), what="the end of the other runner")
    assert not (home / "ran").exists()
    (home / "go").touch()
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
    assert (home / "set-up").read_text() == (home / "ran").read_text() == "x\n"


@pytest.mark.slow
def test_a_runner_that_ends_before_its_program_starts_is_restarted_a_few_times(shop: Workshop) -> None:
    settle(shop, "while [ ! -e ../../../go ]; do sleep 0.01; done")
    shop.create_task("Parser")
    run_id = shop.start_run("#1", "--attempts", "1", "--worktree", "--", "true")
    (folder,) = wait_until(
        lambda: list((shop.live.home / "sessions").glob("ses_*")), what="the folder of the session"
    )
    (folder / "runner.lock").mkdir()  # no runner can lock a folder
    (shop.live.home / "go").touch()
    over = shop.wait_for_run_end(run_id)
    assert over["status"] == "failed" and "Its runner ended 3 times" in over["note"]
    assert (folder / "runner.log").read_text().count("Traceback") == 4
    (session,) = shop.call_json("session", "list")["sessions"]
    assert session["status"] == "failed" and "runner.lock" in json.dumps(
        shop.call_json("session", "explain", session["id"])
    )


def settle(shop: Workshop, setup: str) -> None:
    """Configure a set-up command for worktrees."""
    (shop.repo / ".maestro").mkdir()
    (shop.repo / ".maestro" / "config.toml").write_text(f'[worktree]\nsetup = "{setup}"\n')
