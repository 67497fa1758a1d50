"""Limits of depth, number, time and attempts are kept: a refusal names the limit, and a run waits or gives up."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

Bounded = Callable[..., Workshop]
NOTES = "echo $MAESTRO_TASK_IDS >> order"


@pytest.fixture
def bounded(shop: Workshop) -> Bounded:
    """Return a function that restarts the workshop's server with other settings."""

    def change(**settings: int) -> Workshop:
        shop.live.stop()
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        (shop.live.home / "config.toml").write_text(lines)
        shop.live.start()
        return shop

    return change


def test_a_project_has_a_limited_number_of_spawned_sessions(bounded: Bounded) -> None:
    shop = bounded(spawns_per_project=1)
    shop.spawn_session("--name", "one", "--", "cat")
    assert "at most 1" in shop.run_maestro("session", "spawn", "--name", "two", "--", "true", exits=5)
    assert [one["name"] for one in shop.call_json("session", "list")["sessions"]] == ["one"]
    shop.run_maestro("session", "stop", "one")
    shop.wait_for_session_end("one")
    shop.spawn_session("--name", "two", "--", "true")
    assert shop.wait_for_session_end("two")["status"] == "completed"


def test_a_coordinator_has_a_limited_number_of_workers(bounded: Bounded) -> None:
    shop = bounded(spawns_per_coordinator=1)
    script = "maestro session spawn --name worker -- cat; maestro session spawn -- true 2> refused; echo $? > code"
    shop.spawn_session("--name", "lead", "--mode", "coordinate", "--grant", "full", "--", "sh", "-c", script)
    assert shop.wait_for_session_end("lead")["status"] == "completed"
    assert shop.read_words("code") == ["5"] and "at most 1 workers" in (shop.repo / "refused").read_text()
    shop.spawn_session("--name", "other", "--", "true")  # the limit does not apply to a session of the person
    shop.run_maestro("session", "stop", "worker")


def test_sessions_spawn_sessions_only_to_a_limited_depth(bounded: Bounded) -> None:
    shop = bounded(spawn_depth=1)
    deeper = "maestro session spawn --name third -- true 2> refused; echo $? > code"
    script = f"maestro session spawn --name second --mode coordinate --grant full -- sh -c '{deeper}'"
    shop.spawn_session("--name", "first", "--mode", "coordinate", "--grant", "full", "--", "sh", "-c", script)
    wait_until(lambda: shop.read_words("code"), what="the refusal")
    assert shop.read_words("code") == ["5"] and "1 levels deep" in (shop.repo / "refused").read_text()


def test_a_run_waits_while_the_project_has_too_many_sessions_and_names_the_reason(bounded: Bounded) -> None:
    shop = bounded(spawns_per_project=1)
    shop.spawn_session("--name", "other", "--", "cat")
    shop.create_task("Parser")
    run_id = shop.start_run("#1", "--attempts", "1", "--", "true")
    note = wait_until(lambda: shop.call_json("run", "show", run_id)["note"], what="the note of the run")
    assert "at most 1 spawned" in note and "Waits for room" in shop.run_maestro("run", "show", run_id)
    told = shop.call_json("timeline", "--run", run_id)["events"]
    assert [one["data"]["note"] for one in told if one["kind"] == "run.waiting"] == [note]
    shop.run_maestro("session", "stop", "other")
    over = shop.wait_for_run_end(run_id)
    assert (over["status"], over["note"], over["tasks"][0]["attempts"]) == ("completed", "", 1)


def test_a_task_that_cannot_be_started_is_given_up_after_its_attempts_and_named(shop: Workshop) -> None:
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
    assert len(shop.call_json("session", "list")["sessions"]) == 1  # a refused attempt leaves no session
    assert "no member" in shop.run_maestro("run", "show", over["id"])


def test_a_gate_over_its_time_limit_fails(bounded: Bounded) -> None:
    shop = bounded(gate_seconds=1)
    shop.create_task("Parser", "--gate", "echo $$ > pid; sleep 1000 & sleep 1000")
    shop.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: shop.task_status("#1") == "failed", what="the verdict of the gate")
    assert "longer than 1 seconds" in shop.call_json("task", "show", "#1")["reason"]
    (result,) = shop.call_json("task", "show", "#1")["evidence"]
    assert (result["passed"], result["exit_code"]) == (False, None)


@pytest.mark.slow
def test_attempts_wait_longer_each_time_and_then_end(shop: Workshop) -> None:
    shop.create_task("Hopeless")
    over = shop.run_to_end("#1", "--attempts", "3", "--", "sh", "-c", "date +%s%N >> n; false")
    assert (over["status"], over["tasks"][0]["attempts"]) == ("failed", 3)
    first, second, third = (int(word) / 1e9 for word in shop.read_words("n"))
    assert second - first >= 2 and third - second >= 4  # only the minimum delays matter


def test_a_task_with_several_dependencies_starts_once_after_all_of_them(shop: Workshop) -> None:
    shop.create_task("All of it")
    parts = [shop.create_task(f"Part {number}", "--parent", "#1") for number in range(3)]
    words = [word for one in parts for word in ("--depends-on", one["ref"])]
    last = shop.create_task("Together", "--parent", "#1", *words)
    once = "mkdir tried 2> /dev/null"  # the first attempt at one part fails
    script = f'if [ "$MAESTRO_TASK_IDS" = {parts[1]["id"]} ] && {once}; then exit 1; fi; {NOTES}'
    over = shop.run_to_end("#1", "--", "sh", "-c", script)
    assert over["status"] == "completed"
    order = shop.read_words("order")
    assert sorted(order[:3]) == sorted(one["id"] for one in parts) and order[3:] == [last["id"]]


def test_a_run_that_waits_for_a_task_ends_when_the_task_is_cancelled(shop: Workshop) -> None:
    shop.create_task("All of it")
    shop.create_task("Done by hand", "--parent", "#1")
    shop.run_maestro("task", "start", "#2")
    shop.create_task("Part", "--parent", "#1")
    run_id = shop.start_run("#1", "--", "true")
    wait_until(lambda: shop.task_status("#3") == "completed", what="the completion of the other task")
    shop.run_maestro("task", "cancel", "#2")
    assert shop.wait_for_run_end(run_id)["status"] == "completed"
