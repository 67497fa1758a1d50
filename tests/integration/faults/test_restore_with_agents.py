"""A restore does not leave agents behind that the restored store may not know."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from maestro.testing.live import LiveServer
from maestro.testing.supervised import until
from maestro.testing.workshop import Workshop


def test_a_restore_is_refused_while_agents_run(
    live: LiveServer, make_repo: Callable[..., Path], tmp_path: Path
) -> None:
    shop, backup = Workshop(live, make_repo("vc")), str(tmp_path / "backup.tar")
    shop.maestro("backup", backup)
    made = shop.spawn("--name", "ada", "--", "sleep", "1000")
    until(lambda: shop.session("ada")["status"] == "working", what="the agent's start")
    live.stop()
    refused = shop.maestro("restore", backup, exits=1)
    assert made["id"] in refused and "--end-agents" in refused
    assert len(shop.left()) == 2, "the runner and its agent go on"
    shop.maestro("restore", backup, "--end-agents")
    until(lambda: not shop.left(), what="the end of the agent")
    live.start()
    assert shop.json("session", "list")["sessions"] == []
