"""Runs whose server, runners or agents are killed come to the same end."""

from __future__ import annotations

import json
import os
import signal

from maestro.runner import tree
from maestro.testing.supervised import identity, is_there, until
from maestro.testing.workshop import Workshop

SLOW = 'echo "$MAESTRO_TASK_IDS" >> began; sleep 0.2; echo "$MAESTRO_TASK_IDS" >> order'


def test_a_server_that_is_killed_during_a_run_goes_on_where_it_stood(shop: Workshop) -> None:
    shop.task("All of it")
    made = [shop.task("Part", "--parent", "#1")]
    for _ in range(7):
        made.append(shop.task("Part", "--parent", "#1", "--depends-on", made[-1]["ref"]))
    run_id = shop.begin("#1", "--max-parallel", "3", "--", "sh", "-c", SLOW)
    for count in (1, 3, 5):
        until(lambda many=count: len(shop.lines("began")) >= many, what="some of it")  # type: ignore[misc]
        shop.live.kill()
        shop.live.start()
    assert shop.run_over(run_id)["status"] == "completed"
    assert shop.lines("order") == [one["id"] for one in made]
    assert shop.lines("began") == shop.lines("order")


def test_a_server_that_is_killed_at_the_very_beginning_runs_nothing_twice(shop: Workshop) -> None:
    shop.task("All of it")
    made = [shop.task("Part", "--parent", "#1") for _ in range(4)]
    run_id = shop.begin("#1", "--", "sh", "-c", SLOW)
    shop.live.kill()
    shop.live.start()
    assert shop.run_over(run_id)["status"] == "completed"
    assert sorted(shop.lines("began")) == sorted(one["id"] for one in made)


def test_an_agent_that_ends_while_the_server_is_away_is_heard_later(shop: Workshop) -> None:
    shop.task("Parser")
    made = shop.spawn(
        "--task", "#1", "--name", "parser", "--", "sh", "-c", "echo up > up; while [ ! -e go ]; do sleep 0.01; done"
    )
    until(lambda: shop.lines("up"), what="its start")
    shop.live.kill()
    (shop.repo / "go").touch()
    spool = shop.folder(made["id"]) / "spool.json"
    until(lambda: spool.exists() and "exited" in spool.read_text(), what="its last words")
    shop.live.start()
    assert shop.ended("parser")["status"] == "completed"
    assert shop.status("#1") == "completed"


def test_a_runner_that_is_killed_is_noticed_and_its_task_tried_again(shop: Workshop) -> None:
    shop.task("Parser")
    script = "echo $$ >> n; test $(wc -l < n) -ge 2 || exec sleep 1000"
    run_id = shop.begin("#1", "--", "sh", "-c", script)
    until(lambda: shop.lines("n"), what="its start")
    note = until(shop.notes, what="its runner's note")[0]
    assert tree.started(note["runner"]) == note["runner_started"]
    os.kill(note["runner"], signal.SIGKILL)
    over = shop.run_over(run_id)
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)
    (lost,) = [one for one in shop.json("session", "list")["sessions"] if one["status"] == "lost"]
    assert "runner is gone" in json.dumps(shop.json("session", "explain", lost["id"]))
    until(lambda: not shop.left(), what="the end of every process")


def test_an_agent_that_crashes_is_tried_again(shop: Workshop) -> None:
    shop.task("Parser")
    over = shop.run("#1", "--", "sh", "-c", "echo x >> n; test $(wc -l < n) -ge 2 || kill -KILL $$")
    assert (over["status"], over["tasks"][0]["attempts"]) == ("completed", 2)


def test_with_a_runner_that_is_killed_goes_all_that_its_agent_started(shop: Workshop) -> None:
    made = shop.spawn(
        "--name", "parser", "--", "sh", "-c",
        "sleep 1000 & echo $! > child; (setsid sh -c 'echo $$ > stray; exec sleep 1000' &); "
        "setsid sh -c 'echo $$ > deep; sleep 1000 & echo $! > deeper; wait' & wait",
    )  # fmt: skip
    names = ("child", "stray", "deep", "deeper")
    until(lambda: all(shop.lines(name) for name in names), what="everyone")
    everyone = [identity(int(shop.lines(name)[0])) for name in names]
    assert all(map(is_there, everyone))
    note = json.loads((shop.folder(made["id"]) / "runner.json").read_bytes())
    os.kill(note["runner"], signal.SIGKILL)
    until(lambda: not any(map(is_there, everyone)), what="the end of all that it had started")
    until(lambda: "session.resumed" in shop.maestro("events"), what="its next start")
    until(lambda: shop.session("parser")["status"] == "working", what="its report")
    shop.maestro("session", "stop", "parser")
    assert shop.ended("parser")["status"] == "stopped"
    until(lambda: not shop.left(), what="the end of every process")


def test_a_session_that_is_being_set_up_is_not_started_a_second_time(shop: Workshop) -> None:
    slow = "echo x >> ../../../set-up; while [ ! -e ../../../go ]; do sleep 0.01; done"
    settle(shop, slow)
    shop.task("Parser")
    run_id = shop.begin("#1", "--attempts", "1", "--worktree", "--", "sh", "-c", "echo x >> ../../../ran")
    home = shop.live.home
    until((home / "set-up").exists, what="its set-up")
    for name in ("other", "another"):  # when a runner ends, everyone is looked at; and then there was time to start
        shop.spawn("--name", name, "--", "true")
        shop.ended(name)
        until(lambda: not shop.left(), what="the other runner's end")
    assert not (home / "ran").exists()
    (home / "go").touch()
    assert shop.run_over(run_id)["status"] == "completed"
    assert (home / "set-up").read_text() == (home / "ran").read_text() == "x\n"


def test_a_runner_that_ends_before_its_agent_runs_is_started_again_but_not_for_ever(shop: Workshop) -> None:
    settle(shop, "while [ ! -e ../../../go ]; do sleep 0.01; done")
    shop.task("Parser")
    run_id = shop.begin("#1", "--attempts", "1", "--worktree", "--", "true")
    (folder,) = until(lambda: list((shop.live.home / "runs").glob("ses_*")), what="its folder")
    (folder / "runner.lock").mkdir()  # no runner can hold that
    (shop.live.home / "go").touch()
    over = shop.run_over(run_id)
    assert over["status"] == "failed" and "Its runner ended 3 times" in over["note"]
    assert (folder / "runner.log").read_text().count("Traceback") == 4
    (session,) = shop.json("session", "list")["sessions"]
    assert session["status"] == "failed" and "runner.lock" in json.dumps(
        shop.json("session", "explain", session["id"])
    )


def settle(shop: Workshop, setup: str) -> None:
    """A set-up command for worktrees."""
    (shop.repo / ".maestro").mkdir()
    (shop.repo / ".maestro" / "config.toml").write_text(f'[worktree]\nsetup = "{setup}"\n')
