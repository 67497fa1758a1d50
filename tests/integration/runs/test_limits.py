"""Bounds on what is started: depth and number, time and tries. What is refused is said, and a run waits or gives up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

Bounded = Callable[..., Workshop]
NOTES = "echo $MAESTRO_TASK_IDS >> order"


@pytest.fixture
def bounded(shop: Workshop) -> Bounded:
    """The workshop with other settings."""

    def change(**settings: int) -> Workshop:
        shop.live.stop()
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (shop.live.home / "config.toml").write_text(lines)
        shop.live.start()
        return shop

    return change


def test_a_project_has_so_many_at_once(bounded: Bounded) -> None:
    shop = bounded(spawns_per_project=1)
    shop.spawn_session("--name", "one", "--", "cat")
    assert "at most 1" in shop.run_maestro("session", "spawn", "--name", "two", "--", "true", exits=5)
    assert [one["name"] for one in shop.call_json("session", "list")["sessions"]] == ["one"]
    shop.run_maestro("session", "stop", "one")
    shop.wait_for_session_end("one")
    shop.spawn_session("--name", "two", "--", "true")
    assert shop.wait_for_session_end("two")["status"] == "completed"


def test_a_coordinator_has_so_many_workers_at_once(bounded: Bounded) -> None:
    shop = bounded(spawns_per_coordinator=1)
    script = "maestro session spawn --name worker -- cat; maestro session spawn -- true 2> refused; echo $? > code"
    shop.spawn_session("--name", "lead", "--mode", "coordinate", "--grant", "full", "--", "sh", "-c", script)
    assert shop.wait_for_session_end("lead")["status"] == "completed"
    assert shop.read_words("code") == ["5"] and "at most 1 workers" in (shop.repo / "refused").read_text()
    shop.spawn_session("--name", "other", "--", "true")  # of the person, whom that does not bind
    shop.run_maestro("session", "stop", "worker")


def test_sessions_start_others_only_so_deep(bounded: Bounded) -> None:
    shop = bounded(spawn_depth=1)
    deeper = "maestro session spawn --name third -- true 2> refused; echo $? > code"
    script = f"maestro session spawn --name second --mode coordinate --grant full -- sh -c '{deeper}'"
    shop.spawn_session("--name", "first", "--mode", "coordinate", "--grant", "full", "--", "sh", "-c", script)
    wait_until(lambda: shop.read_words("code"), what="the refusal")
    assert shop.read_words("code") == ["5"] and "1 levels deep" in (shop.repo / "refused").read_text()


def test_a_run_waits_for_room_and_says_so(bounded: Bounded) -> None:
    shop = bounded(spawns_per_project=1)
    shop.spawn_session("--name", "other", "--", "cat")
    shop.create_task("Parser")
    run_id = shop.start_run("#1", "--attempts", "1", "--", "true")
    note = wait_until(lambda: shop.call_json("run", "show", run_id)["note"], what="a word from the run")
    assert "at most 1 spawned" in note and "Waits for room" in shop.run_maestro("run", "show", run_id)
    told = shop.call_json("timeline", "--run", run_id)["events"]
    assert [one["data"]["note"] for one in told if one["kind"] == "run.waiting"] == [note]
    shop.run_maestro("session", "stop", "other")
    over = shop.wait_for_run_end(run_id)
    assert (over["status"], over["note"], over["tasks"][0]["attempts"]) == ("completed", "", 1)


def test_what_cannot_be_started_is_tried_again_given_up_and_named(shop: Workshop) -> None:
    shop.run_maestro("member", "create", "ghost", "--role", "r")
    shop.create_task("All of it")
    shop.create_task("Haunted", "--parent", "#1", "--member", "ghost")
    shop.create_task("Sound", "--parent", "#1")
    shop.run_maestro("member", "archive", "ghost")
    over = shop.run_to_end("#1", "--attempts", "2", "--", "sh", "-c", "echo $MAESTRO_TASK_IDS >> n")
    assert over["status"] == "failed" and "vc#2" in over["note"] and "no member 'ghost'" in over["note"]
    assert len(shop.read_words("n")) == 1 and shop.task_status("#3") == "completed"
    told = [
        one["data"]
        for one in shop.call_json("timeline", "--run", over["id"])["events"]
        if one["kind"] == "run.attempt"
    ]
    refused = [(one["task"], one["attempt"]) for one in told if one["outcome"] == "refused"]
    assert refused == [("vc#2", 1), ("vc#2", 2)]
    assert len(shop.call_json("session", "list")["sessions"]) == 1  # nothing is left of what was refused
    assert "no member" in shop.run_maestro("run", "show", over["id"])


def test_a_gate_ends_when_its_time_is_over(bounded: Bounded) -> None:
    shop = bounded(gate_seconds=1)
    shop.create_task("Parser", "--gate", "echo $$ > pid; sleep 1000 & sleep 1000")
    shop.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict")
    assert "longer than 1 seconds" in shop.call_json("task", "show", "#1")["reason"]
    (result,) = shop.call_json("task", "show", "#1")["evidence"]
    assert (result["passed"], result["exit_code"]) == (False, None)


@pytest.mark.slow
def test_retries_wait_longer_each_time_and_come_to_an_end(shop: Workshop) -> None:
    shop.create_task("Hopeless")
    over = shop.run_to_end("#1", "--attempts", "3", "--", "sh", "-c", "date +%s%N >> n; false")
    assert (over["status"], over["tasks"][0]["attempts"]) == ("failed", 3)
    first, second, third = (int(word) / 1e9 for word in shop.read_words("n"))
    assert second - first >= 2 and third - second >= 4  # never sooner; how much later is no matter here


def test_fan_in_waits_for_all_and_begins_once(shop: Workshop) -> None:
    shop.create_task("All of it")
    parts = [shop.create_task(f"Part {number}", "--parent", "#1") for number in range(3)]
    words = [word for one in parts for word in ("--depends-on", one["ref"])]
    last = shop.create_task("Together", "--parent", "#1", *words)
    once = "mkdir tried 2> /dev/null"  # the first try of one part fails
    script = f'if [ "$MAESTRO_TASK_IDS" = {parts[1]["id"]} ] && {once}; then exit 1; fi; {NOTES}'
    over = shop.run_to_end("#1", "--", "sh", "-c", script)
    assert over["status"] == "completed"
    order = shop.read_words("order")
    assert sorted(order[:3]) == sorted(one["id"] for one in parts) and order[3:] == [last["id"]]


def test_what_was_cancelled_ends_a_run_that_waited_for_it(shop: Workshop) -> None:
    shop.create_task("All of it")
    shop.create_task("Done by hand", "--parent", "#1")
    shop.run_maestro("task", "start", "#2")
    shop.create_task("Part", "--parent", "#1")
    run_id = shop.start_run("#1", "--", "true")
    wait_until(lambda: shop.task_status("#3") == "completed", what="its own part")
    shop.run_maestro("task", "cancel", "#2")
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
