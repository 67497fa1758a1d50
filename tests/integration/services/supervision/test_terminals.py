"""Test the logs of real programs."""

from __future__ import annotations

from maestro.testing.workshop import Workshop


def test_logs_of_a_program_without_output_are_empty(shop: Workshop) -> None:
    shop.spawn_session("--name", "quiet", "--", "true")
    shop.wait_for_session_end("quiet")
    done = shop.live.run_command("session", "logs", "quiet", cwd=shop.repo)
    assert done.stdout == b"" and b"quiet has no output yet" in done.stderr
