"""Test the restart of an ended session with a real program."""

from __future__ import annotations

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_a_resumed_session_keeps_id_name_task_and_directive(shop: Workshop) -> None:
    shop.create_task("Parser")
    old = shop.spawn_session(
        "--task", "#1", "--name", "parser", "--message", "Small.", "--", "sh", "-c", "echo x >> n; cat"
    )
    wait_until(lambda: shop.read_words("n") == ["x"], what="the start of the program")
    shop.run_maestro("session", "resume", "parser", exits=5)
    shop.run_maestro("session", "stop", "parser")
    shop.wait_for_session_end("parser")
    new = shop.call_json("session", "resume", "parser")
    assert (new["id"], new["name"], new["epoch"]) == (old["id"], "parser", 2)
    wait_until(lambda: shop.read_words("n") == ["x", "x"], what="the second start of the program")
    assert shop.call_json("task", "show", "#1")["holder"] == old["id"]
    told = shop.call_json("manifest", "show", "parser")
    assert "Small." in told["directive"]["text"] and told["resumed"]["status"] == "stopped"
    wait_until(lambda: shop.show_session("parser")["status"] == "working", what="the report of the start")
    shop.run_maestro("session", "stop", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "stopped", "a resumed session can be stopped again"
