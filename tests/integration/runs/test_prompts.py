"""Prompts typed into a running program: as text and never as keys, and `delivered` only if its terminal took them."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

ECHOES = 'while read -r line; do printf "%s\\n" "$line" >> heard; done'


def heard(shop: Workshop) -> str:
    path = shop.repo / "heard"
    return path.read_text() if path.exists() else ""


def test_control_characters_are_no_keys(shop: Workshop) -> None:
    shop.spawn_session("--name", "reader", "--", "sh", "-c", ECHOES)
    sent = shop.call_json("session", "prompt", "reader", "a\x03b\x04c\x1ad\x1c")
    assert sent["deliveries"][0]["status"] == "delivered"
    wait_until(lambda: heard(shop) == "a\\x03b\\x04c\\x1ad\\x1c\n", what="the text")
    assert shop.show_session("reader")["status"] == "working"


def test_what_a_terminal_would_cut_is_not_handed_over(shop: Workshop) -> None:
    shop.spawn_session("--name", "reader", "--", "sh", "-c", ECHOES)
    said = shop.run_maestro("session", "prompt", "reader", "x" * 6000, exits=7)
    assert "lines of at most 4095 bytes" in said and "inbox" in said
    shop.run_maestro("session", "prompt", "reader", "y" * 4000)
    wait_until(lambda: heard(shop) == "y" * 4000 + "\n", what="the line that fits")
    (unread,) = [one for one in shop.call_json("mail", "sent")["messages"] if one["subject"].startswith("xxx")]
    assert unread["deliveries"][0]["status"] == "sent"


def test_what_a_program_does_not_take_is_not_delivered(shop: Workshop) -> None:
    shop.spawn_session("--name", "deaf", "--", "sleep", "100")
    said = shop.run_maestro("session", "prompt", "deaf", "line\n" * 20_000, exits=7)
    assert "has not read the prompt" in said


def test_an_agent_starts_where_its_caller_is(shop: Workshop) -> None:
    (shop.repo / "sub").mkdir()
    program = shop.repo / "sub" / "own-agent"
    program.write_text("#!/bin/sh\npwd > where\n")
    program.chmod(0o755)
    done = shop.live.run_command("session", "spawn", "--name", "local", "--", "./own-agent", cwd=shop.repo / "sub")
    assert done.returncode == 0, done.stderr
    assert shop.wait_for_session_end("local")["status"] == "completed"
    assert (shop.repo / "sub" / "where").read_text().strip() == str((shop.repo / "sub").resolve())


def test_a_team_that_is_not_there_is_refused(shop: Workshop) -> None:
    assert "There is no team 'nosuch'" in shop.run_maestro(
        "session", "spawn", "--team", "nosuch", "--", "true", exits=6
    )
