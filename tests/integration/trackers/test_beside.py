"""Everything around a tracker: its choice, `bd mail`, hooks of bd, and the problems that a person is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from maestro.testing.supervised import wait_until

from .conftest import World

SLOW = "tracker_seconds = 3600\n"


def test_only_the_settings_files_choose_a_tracker(newest: str, make_world: Callable[..., World]) -> None:
    world = make_world(settings=SLOW)
    config = world.beads.folder / ".maestro" / "config.toml"
    local = config.with_name("local.toml")
    assert world.beads.json("project", "show")["tracker"] == "beads"
    local.write_text('[tracker]\nkind = "builtin"\n')
    assert world.beads.json("project", "show")["tracker"] == "builtin"
    status = world.beads.json("tracker", "status")
    assert status["kind"] == "builtin" and ".beads" in status["hint"]
    refused = world.live.run_command("tracker", "sync", cwd=world.beads.folder)
    assert refused.returncode == 5 and b"has no external tracker" in refused.stderr
    local.unlink()
    config.write_text('[tracker]\nkind = "jira"\n')
    shown = world.live.run_command("project", "show", cwd=world.beads.folder)
    assert b"[tracker] kind is not valid. Use one of: builtin, beads" in shown.stderr
    assert world.vc.json("tracker", "status") == {**world.vc.json("tracker", "status"), "kind": "builtin", "hint": ""}


def test_a_settings_file_that_an_agent_changes_does_not_choose_a_tracker(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world(settings=SLOW)
    agent = world.beads.join("keeper")
    config = world.beads.folder / ".maestro" / "config.toml"
    config.write_text("")
    agent.json("project", "show")
    assert agent.json("project", "show")["tracker"] == "beads"
    assert world.beads.json("project", "show")["tracker"] == "builtin"  # a command of the person reads the file


def test_issues_from_before_the_choice_are_copied_to_the_tracker_once(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world()
    finder = world.vc.join("finder")
    config = world.beads.folder / ".maestro" / "config.toml"
    config.unlink()
    world.beads.json("project", "show")
    early = world.open(finder, "Early")
    finder.json("issue", "reply", early, "--message", "More")
    for _ in range(2):  # choose the tracker, leave it and choose it again: no issue is copied twice
        world.hand.choose_beads()
        world.beads.json("project", "show")
        world.in_step()
        (there,) = world.hand.issues()
        assert there["title"] == "Early" and world.hand.comment_texts(there["id"]) == ["More"]
        config.unlink()
        world.beads.json("project", "show")
    assert len(world.beads.json("issue", "list", "--status", "all")["issues"]) == 1


def test_bd_mail_sends_and_reads_mail_of_maestro(newest: str, make_world: Callable[..., World]) -> None:
    world = make_world(settings=SLOW)
    out = world.beads.folder / "out.txt"
    script = f"env > {out}.env; bd mail send human -s hi -m 'the body' > {out} 2>&1; bd mail inbox >> {out} 2>&1"
    spawned = world.live.run_command(
        "session", "spawn", "--name", "keeper", "--json", "--", "sh", "-c", script, cwd=world.beads.folder
    )
    assert spawned.returncode == 0, spawned.stderr
    (mail,) = wait_until(lambda: world.beads.json("mail", "inbox")["messages"], what="mail from bd")
    assert (mail["subject"], mail["body"], mail["sender"]["name"]) == ("hi", "the body", "keeper")
    found = dict(line.partition("=")[::2] for line in Path(f"{out}.env").read_text().splitlines())
    assert found["BEADS_MAIL_DELEGATE"] == "maestro mail"
    assert found["BD_ACTOR"] == found["BEADS_ACTOR"] == "keeper"


def test_a_hook_of_bd_without_a_payload_starts_a_round_at_once(newest: str, make_world: Callable[..., World]) -> None:
    world = make_world(settings=SLOW)
    finder = world.vc.join("finder")
    ref = world.open(finder)
    world.in_step()
    (there,) = world.hand.issues()
    hook = world.hand.folder / "hooks" / "on_update"
    hook.parent.mkdir()
    command = f'"{sys.executable}" -c "from maestro.client.main import main; main()" tracker sync'
    hook.write_text(f"#!/bin/sh\nMAESTRO_HOME={world.live.home} exec {command}\n")
    hook.chmod(0o755)
    for number in range(3):
        world.hand.run_bd("comments", "add", there["id"], f"Comment {number}")
        wait_until(lambda number=number: world.vc.bodies(ref)[-1] == f"Comment {number}", what="the comment")  # type: ignore[misc]


def test_the_status_and_the_project_show_a_problem_of_the_tracker(
    newest: str, make_world: Callable[..., World]
) -> None:
    world = make_world(settings="tracker_seconds = 3600\ntracker_call_seconds = 1\n")
    world.open(world.vc.join("finder"))
    world.in_step()
    shown = world.live.run_command("tracker", "status", cwd=world.beads.folder).stdout.decode()
    assert "beads 1.0.5" in shown and "behind        none" in shown
    world.hand.misbehave("fail", "database is locked")
    world.open(world.vc.join("other"), "Second")
    wait_until(lambda: world.status()["problem"], what="the report of a problem")
    shown = world.live.run_command("tracker", "status", cwd=world.beads.folder).stdout.decode()
    assert "database is locked" in shown and "1 issues" in shown
    assert "database is locked" in world.live.run_command("project", "show", cwd=world.beads.folder).stdout.decode()
