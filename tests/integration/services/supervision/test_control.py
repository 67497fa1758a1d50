"""Test the control of real programs: prompts that are typed into a terminal, and stops that answer after the end."""

from __future__ import annotations

import subprocess

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

STUBBORN = "trap '' TERM; touch ready; while :; do sleep 0.05; done"


ECHOES = 'while read -r line; do printf "%s\\n" "$line" >> heard; done'


def heard_text(shop: Workshop) -> str:
    path = shop.repo / "heard"
    return path.read_text() if path.exists() else ""


def test_control_characters_of_a_prompt_are_typed_as_text(shop: Workshop) -> None:
    shop.spawn_session("--name", "reader", "--", "sh", "-c", ECHOES)
    sent = shop.call_json("session", "prompt", "reader", "a\x03b\x04c\x1ad\x1c")
    assert sent["deliveries"][0]["status"] == "delivered"
    wait_until(lambda: heard_text(shop) == "a\\x03b\\x04c\\x1ad\\x1c\n", what="the arrival of the text")
    assert shop.show_session("reader")["status"] == "working"


def test_a_line_that_the_terminal_would_cut_is_refused(shop: Workshop) -> None:
    shop.spawn_session("--name", "reader", "--", "sh", "-c", ECHOES)
    output = shop.run_maestro("session", "prompt", "reader", "x" * 6000, exits=7)
    assert "lines of at most 4095 bytes. Send shorter lines." in output and "inbox" in output
    shop.run_maestro("session", "prompt", "reader", "y" * 4000)
    wait_until(lambda: heard_text(shop) == "y" * 4000 + "\n", what="the arrival of the short line")
    (unread,) = [one for one in shop.call_json("mail", "sent")["messages"] if one["subject"].startswith("xxx")]
    assert unread["deliveries"][0]["status"] == "sent"


def test_a_prompt_that_the_program_does_not_read_is_not_delivered(shop: Workshop) -> None:
    shop.spawn_session("--name", "deaf", "--", "sleep", "100")
    output = shop.run_maestro("session", "prompt", "deaf", "line\n" * 20_000, exits=7)
    assert "has not read the prompt" in output


def test_a_stop_answers_after_the_end_of_the_session(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "sleep", "1000")
    assert "stopped" in shop.run_maestro("session", "stop", "parser")
    assert shop.show_session("parser")["ended_at"]
    assert "has ended (stopped)" in shop.run_maestro("session", "stop", "parser", exits=5)


def test_a_second_stop_names_the_caller_of_the_first(shop: Workshop) -> None:
    shop.spawn_session("--name", "parser", "--", "sh", "-c", STUBBORN)
    wait_until(lambda: (shop.repo / "ready").exists(), what="the start of the program")
    first = shop.live.start_command("session", "stop", "parser", cwd=shop.repo, stdout=subprocess.PIPE)
    cast = shop.runner_folder(shop.show_session("parser")["id"]) / "transcript.cast"
    wait_until(lambda: "stop by" in cast.read_text(), what="the first stop")
    assert "parser is being stopped by" in shop.run_maestro("session", "stop", "parser", "--timeout", "1s", exits=3)
    out, _ = first.communicate(timeout=60)
    assert first.returncode == 0 and b"stopped" in out


def test_the_program_of_an_ended_session_is_stopped(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.spawn_session("--task", "#1", "--name", "parser", "--", "sleep", "1000")
    shop.run_maestro("session", "end", "parser", "--status", "failed")
    wait_until(lambda: not shop.remaining_pids(), what="the end of the program")
    assert shop.show_session("parser")["status"] == "failed"


def test_a_registered_session_cannot_be_stopped(shop: Workshop) -> None:
    shop.run_maestro("session", "register", "--name", "guest")
    output = shop.run_maestro("session", "stop", "guest", exits=5)
    assert "only registered" in output and "maestro session end guest" in output
