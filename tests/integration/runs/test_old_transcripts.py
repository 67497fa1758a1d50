"""Transcripts of sessions that ended long ago are deleted."""

from __future__ import annotations

import sqlite3
import time

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_old_transcripts_are_deleted_and_young_transcripts_stay(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--", "echo", "hello")
    shop.wait_for_session_end("parser")
    assert "hello" in shop.run_maestro("session", "logs", "parser")
    shop.live.stop()
    shop.live.start()
    assert shop.runner_folder(made["id"]).exists()
    long_ago = int((time.time() - 31 * 86400) * 1_000_000)
    shop.live.stop()
    _sqlite(shop, f"UPDATE sessions SET ended_at = {long_ago} WHERE id = '{made['id']}'")
    (shop.live.home / "sessions" / "not-ours").mkdir()
    shop.live.start()
    wait_until(lambda: not shop.runner_folder(made["id"]).exists(), what="the removal of the old folder")
    assert (shop.live.home / "sessions" / "not-ours").exists() and shop.show_session("parser")[
        "status"
    ] == "completed"


def _sqlite(shop: Workshop, statement: str) -> None:
    with sqlite3.connect(shop.live.home / "maestro.db") as connection:
        connection.execute(statement)
