"""Tests that a setup command from a file of a checkout runs only after the person has accepted it (finding H2)."""

from __future__ import annotations

import json
from pathlib import Path

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import FINAL_STATUSES, Workshop


def write_setup(checkout: Path, command: str) -> None:
    """Write a setup command into the settings of a checkout, as an agent could."""
    (checkout / ".maestro").mkdir(exist_ok=True)
    (checkout / ".maestro" / "config.toml").write_text(f"[worktree]\nsetup = {json.dumps(command)}\n")


def spawned_by(shop: Workshop, lead: dict[str, str], name: str) -> list[str]:
    """Let a coordinator spawn a session with a worktree, and return the warnings that the coordinator gets."""
    made = shop.call_as(lead, "session", "spawn", "--name", name, "--worktree", "--json", "--", "sleep", "60")
    return list(json.loads(made)["warnings"])


def test_a_setup_command_that_a_session_wrote_does_not_run_before_the_person_accepts_it(shop: Workshop) -> None:
    shop.run_maestro("init")
    lead = shop.register_coordinator()
    write_setup(shop.repo, f"touch {shop.repo}/ran")
    warnings = spawned_by(shop, lead, "ada")
    assert not (shop.repo / "ran").exists()
    assert [f"touch {shop.repo}/ran" in one and "maestro init" in one for one in warnings] == [True]

    shop.run_maestro("init")  # the person accepts the setup command
    assert spawned_by(shop, lead, "bob") == []
    assert (shop.repo / "ran").exists()


def test_any_command_of_the_person_in_the_checkout_accepts_a_setup_command(shop: Workshop) -> None:
    lead = shop.register_coordinator()
    write_setup(shop.repo, f"touch {shop.repo}/ran")
    shop.call_as(lead, "task", "list")  # a session that reads the changed file first does not accept the command
    told = shop.live.run_command("task", "list", cwd=shop.repo).stderr.decode()
    assert f"new worktrees run the set-up command `touch {shop.repo}/ran`" in told
    assert "set-up command" not in shop.live.run_command("task", "list", cwd=shop.repo).stderr.decode()
    assert spawned_by(shop, lead, "ada") == []
    assert (shop.repo / "ran").exists()


def test_a_command_of_the_person_that_shows_no_notes_accepts_no_setup_command(shop: Workshop) -> None:
    lead = shop.register_coordinator()
    write_setup(shop.repo, f"touch {shop.repo}/ran")
    words = ("mail", "send", "nosuch", "--project", "vc", "--subject", "s", "--message", "m")
    assert shop.live.run_command(*words, cwd=shop.repo).returncode == 6
    assert len(spawned_by(shop, lead, "ada")) == 1
    assert not (shop.repo / "ran").exists()
    told = shop.live.run_command("task", "list", cwd=shop.repo).stderr.decode()
    assert f"new worktrees run the set-up command `touch {shop.repo}/ran`" in told


def test_a_changed_setup_command_needs_the_person_again(shop: Workshop) -> None:
    write_setup(shop.repo, f"touch {shop.repo}/first")
    shop.run_maestro("init")
    lead = shop.register_coordinator()
    shop.run_git("add", "-A")
    shop.run_git("commit", "-qm", "settings")
    write_setup(shop.repo, f"touch {shop.repo}/second")
    shop.run_git("commit", "-qam", "a merge brings another command")
    assert len(spawned_by(shop, lead, "ada")) == 1
    assert not (shop.repo / "first").exists()
    assert not (shop.repo / "second").exists()


def test_an_accepted_setup_command_stays_accepted_after_a_restart_of_the_server(shop: Workshop) -> None:
    write_setup(shop.repo, f"touch {shop.repo}/ran")
    shop.run_maestro("init")
    lead = shop.register_coordinator()
    shop.live.kill()
    shop.live.start()
    assert spawned_by(shop, lead, "ada") == []
    assert (shop.repo / "ran").exists()
    write_setup(shop.repo, f"touch {shop.repo}/other")
    assert len(spawned_by(shop, lead, "bob")) == 1
    assert not (shop.repo / "other").exists()


def _run_status(shop: Workshop, lead: dict[str, str], run_id: str) -> str:
    """Return the status as the coordinator: a command of the person would accept the setup command."""
    return str(json.loads(shop.call_as(lead, "run", "show", run_id, "--json"))["status"])


def test_the_gates_of_a_run_do_not_run_a_setup_command_without_the_person(shop: Workshop) -> None:
    lead = shop.register_coordinator()
    parent = shop.create_task("Parser", "--gate", "test -e README")
    shop.create_task("Lexer", "--parent", parent["ref"])
    write_setup(shop.repo, f"touch {shop.repo}/ran")
    run = json.loads(
        shop.call_as(lead, "run", parent["ref"], "--detach", "--worktree", "--json", "--", "sh", "-c", "exit 0")
    )
    wait_until(lambda: _run_status(shop, lead, run["id"]) in FINAL_STATUSES, what="the end of the run")
    assert not (shop.repo / "ran").exists()
