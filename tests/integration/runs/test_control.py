"""Starting and stopping one session: the answer says what is so, not what was asked for."""

from __future__ import annotations

import subprocess

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

STUBBORN = "trap '' TERM; touch ready; while :; do sleep 0.05; done"


def test_a_spawn_answers_that_the_program_runs(shop: Workshop) -> None:
    assert shop.spawn_session("--name", "parser", "--", "sleep", "1000")["status"] == "working"


def test_a_program_that_is_not_there_is_said_at_once(shop: Workshop) -> None:
    shop.create_task("Parser")
    said = shop.run_maestro("session", "spawn", "--task", "#1", "--name", "p", "--", "no-such-program", exits=1)
    assert "p could not be started" in said and "no-such-program" in said
    assert shop.task_status("#1") == "failed"


def test_a_stop_answers_when_it_has_ended(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "sleep", "1000")
    assert "stopped" in shop.run_maestro("session", "stop", "parser")
    assert shop.show_session("parser")["ended_at"]
    assert "has ended (stopped)" in shop.run_maestro("session", "stop", "parser", exits=5)


def test_who_stops_what_is_being_stopped_is_told_so(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", STUBBORN)
    wait_until(lambda: (shop.repo / "ready").exists(), what="its start")
    first = shop.live.start_command("session", "stop", "parser", cwd=shop.repo, stdout=subprocess.PIPE)
    cast = shop.runner_folder(shop.show_session("parser")["id"]) / "transcript.cast"
    wait_until(lambda: "stop by" in cast.read_text(), what="the first stop")
    assert "parser is being stopped by" in shop.run_maestro("session", "stop", "parser", "--timeout", "1s", exits=3)
    out, _ = first.communicate(timeout=60)
    assert first.returncode == 0 and b"stopped" in out


def test_who_is_ended_on_record_is_ended_in_truth(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.spawn_session("--task", "#1", "--name", "parser", "--", "sleep", "1000")
    shop.run_maestro("session", "end", "parser", "--status", "failed")
    wait_until(lambda: not shop.remaining_pids(), what="its program's end")
    assert shop.show_session("parser")["status"] == "failed"


def test_who_ends_itself_has_a_moment_and_no_more(shop: Workshop) -> None:
    script = "maestro session end --status completed; sleep 1; touch moment; sleep 1000"
    shop.spawn_session("--name", "parser", "--", "sh", "-c", script)
    shop.wait_for_session_end("parser")
    wait_until(lambda: (shop.repo / "moment").exists(), what="its last step")
    wait_until(lambda: not shop.remaining_pids(), what="its program's end")
    assert shop.show_session("parser")["status"] == "completed"


def test_who_was_only_registered_is_not_ours_to_stop(shop: Workshop) -> None:
    shop.run_maestro("session", "register", "--name", "guest")
    said = shop.run_maestro("session", "stop", "guest", exits=5)
    assert "only registered" in said and "maestro session end guest" in said


def test_logs_of_who_said_nothing_say_so(shop: Workshop) -> None:
    shop.spawn_session("--name", "quiet", "--", "true")
    shop.wait_for_session_end("quiet")
    done = shop.live.run_command("session", "logs", "quiet", cwd=shop.repo)
    assert done.stdout == b"" and b"quiet has no output yet" in done.stderr
