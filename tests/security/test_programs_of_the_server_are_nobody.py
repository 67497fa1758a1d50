"""Tests that a program that the server starts in a folder of an agent never acts as the person (finding H2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import MAESTRO, Workshop


def probe(shop: Workshop, file: str) -> str:
    """Return a command that writes its caller. Gates find no address of the server in their environment."""
    path = shop.repo / file
    return f"MAESTRO_HOME={shop.live.home} {MAESTRO} whoami --json > {path}.part 2>&1; mv {path}.part {path}"


def asked_as(file: Path) -> dict[str, Any]:
    wait_until(file.exists, what=f"an answer in {file.name}")
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def is_nobody(answer: dict[str, Any]) -> bool:
    return answer.get("role") == "nobody" or answer.get("code") == "not_authenticated"


def test_a_gate_is_nobody(shop: Workshop) -> None:
    (shop.repo / "gate.sh").write_text(probe(shop, "gate"))
    shop.create_task("Parser", "--gate", "sh gate.sh")
    shop.spawn_session("--task", "#1", "--", "true")
    assert is_nobody(asked_as(shop.repo / "gate"))


def test_an_orphan_of_a_gate_is_nobody(supervised: Workshop) -> None:
    command = probe(supervised, "gate")
    waiting = f"touch begun; until test -e go; do sleep 0.05; done; {command}"
    hidden = f"(setsid env -i sh -c '{waiting}' > out 2>&1 &)"
    (supervised.repo / "gate.sh").write_text(f"{hidden}\nuntil test -e begun; do sleep 0.05; done\n")
    supervised.create_task("Parser", "--gate", "sh gate.sh")
    supervised.spawn_session("--task", "#1", "--", "true")
    wait_until(lambda: supervised.task_status("#1") == "completed", what="the verdict of the gate")
    (supervised.repo / "go").touch()
    assert is_nobody(asked_as(supervised.repo / "gate"))


def test_a_setup_command_is_nobody(shop: Workshop) -> None:
    (shop.repo / ".maestro").mkdir()
    command = probe(shop, "setup")
    (shop.repo / ".maestro" / "config.toml").write_text(f"[worktree]\nsetup = {json.dumps(command)}\n")
    shop.run_maestro("init")
    shop.spawn_session("--name", "ada", "--worktree", "--", "sleep", "60")
    assert is_nobody(asked_as(shop.repo / "setup"))
