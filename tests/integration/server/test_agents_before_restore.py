"""Test that a restore refuses to leave running agents behind, and ends them with --end-agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


@pytest.mark.slow
def test_a_restore_is_refused_while_agents_run(
    live: LiveServer, make_repo: Callable[..., Path], tmp_path: Path
) -> None:
    shop, backup = Workshop(live, make_repo("vc")), str(tmp_path / "backup.tar")
    shop.run_maestro("backup", backup)
    made = shop.spawn_session("--name", "ada", "--", "sleep", "1000")
    wait_until(lambda: shop.show_session("ada")["status"] == "working", what="the agent's start")
    live.stop()
    refused = shop.run_maestro("restore", backup, exits=1)
    assert made["id"] in refused and "--end-agents" in refused
    assert len(shop.remaining_pids()) == 2, "the runner and its agent still run"
    shop.run_maestro("restore", backup, "--end-agents")
    wait_until(lambda: not shop.remaining_pids(), what="the end of the agent")
    live.start()
    assert shop.call_json("session", "list")["sessions"] == []
