"""Tests that a session starts no program with more rights than its grant, and that only the person raises a grant."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from maestro.testing.workshop import Workshop
from maestro.tools.policy import PermissionPolicy

pytestmark = pytest.mark.slow

REFUSED = 4


def test_a_coordinator_with_the_grant_edit_cannot_give_the_permission_full(shop: Workshop) -> None:
    lead = shop.spawn_session("--name", "lead", "--mode", "coordinate", "--permission", "plan", "--", "sleep", "1000")
    assert lead["grant"] == "edit"
    lead["token"] = _token(shop, "lead")
    told = shop.call_as(
        lead, "session", "spawn", "--tool", "claude", "--permission", "full", "--dry-run", exits=REFUSED
    )
    assert "Session lead has the grant edit, so it may not give the permission level full." in told
    assert f"maestro session grant {lead['id']} full" in told
    shop.call_as(lead, "session", "spawn", "--tool", "claude", "--permission", "edit", "--dry-run")


@pytest.mark.parametrize(
    "words",
    [
        ("session", "spawn", "--", "sh", "-c", "touch ran"),
        ("session", "spawn", "--tool", "command", "--", "touch", "ran"),
        ("session", "spawn", "--tool", "command"),
        ("session", "spawn", "--tool", "claude", "--", "--dangerously-skip-permissions"),
        ("session", "spawn", "--tool", "claude", "--allow", "shell:*"),
        ("session", "spawn", "--tool", "claude", "--grant", "full"),
        ("session", "spawn", "--member", "runs-anything"),
        ("session", "spawn", "--tool", "claude", "--member", "may-all"),
        ("session", "register", "--grant", "full"),
        ("run", "#1", "--detach", "--", "touch", "ran"),
        ("run", "#1", "--detach", "--tool", "command"),
        ("run", "#1", "--detach", "--tool", "claude", "--allow", "shell:*"),
        ("run", "#1", "--detach", "--tool", "claude", "--member", "may-all"),
        ("member", "create", "eve", "--role", "x", "--tool", "command"),
        ("member", "create", "eve", "--role", "x", "--permission", "full"),
        ("member", "edit", "ada", "--tool", "command"),
        ("member", "edit", "ada", "--permission", "full"),
    ],
    ids=" ".join,
)
def test_a_command_that_the_grant_edit_does_not_cover_is_refused(shop: Workshop, words: tuple[str, ...]) -> None:
    shop.create_task("Work")
    for name, flags in (("ada", ()), ("may-all", ("--permission", "full")), ("runs-anything", ("--tool", "command"))):
        shop.run_maestro("member", "create", name, "--role", "x", *flags)
    lead = shop.register_session("lead", "--mode", "coordinate")
    told = shop.call_as(lead, *words, exits=REFUSED)
    assert "has the grant edit" in told and f"maestro session grant {lead['id']} full" in told
    assert not (shop.repo / "ran").exists()
    assert [one["name"] for one in shop.call_json("session", "list", "--active")["sessions"]] == ["lead"]
    assert shop.call_json("run", "list")["runs"] == []


def test_a_raised_or_lowered_grant_applies_at_once_and_only_the_person_changes_it(shop: Workshop) -> None:
    lead = shop.register_session("lead", "--mode", "coordinate")
    worker = shop.register_session("worker")
    program = ("session", "spawn", "--name", "one", "--", "touch", "ran")
    shop.call_as(lead, *program, exits=REFUSED)
    for session in (lead, worker):
        shop.call_as(session, "session", "grant", "lead", "full", exits=REFUSED)
    told = shop.run_maestro("session", "grant", "lead", "full")
    assert "grant full" in told
    assert "full (the highest level" in shop.run_maestro("session", "show", "lead")
    assert "full (the highest level" in shop.run_maestro("session", "explain", "lead")
    shop.call_as(lead, *program)
    shop.wait_for_session_end("one")
    assert (shop.repo / "ran").exists()
    shop.run_maestro("session", "grant", "lead", "edit")
    shop.call_as(lead, "session", "spawn", "--name", "two", "--", "true", exits=REFUSED)


def test_a_child_never_has_a_higher_grant_than_its_parent(shop: Workshop) -> None:
    low = shop.register_session("low", "--mode", "coordinate", "--grant", "plan")
    made = json.loads(shop.call_as(low, "session", "register", "--name", "child", "--mode", "coordinate", "--json"))
    assert (low["grant"], made["grant"]) == ("plan", "plan")
    shop.call_as(low, "session", "spawn", "--tool", "claude", "--dry-run", exits=REFUSED)  # the default is edit
    full = shop.register_coordinator()
    spawned = json.loads(shop.call_as(full, "session", "spawn", "--name", "w", "--json", "--", "sleep", "1000"))
    assert (spawned["permission"], spawned["grant"]) == ("edit", "edit")
    dry = json.loads(
        shop.call_as(full, "session", "spawn", "--tool", "claude", "--grant", "full", "--dry-run", "--json")
    )
    assert (dry["grant"], dry["manifest"]["grant"]) == ("full", "full")


@pytest.mark.parametrize(
    "words",
    [
        ("task", "create", "t", "--gate", "touch ran"),
        ("task", "edit", "#1", "--gate", "touch ran"),
        ("task", "edit", "#2", "--gate", ""),
    ],
    ids=" ".join,
)
def test_a_session_with_the_grant_plan_cannot_set_or_remove_gates(shop: Workshop, words: tuple[str, ...]) -> None:
    """Try to set gates: the server runs a gate as the user, so a gate is a program that the session chooses."""
    shop.create_task("Work")
    shop.create_task("Guarded", "--gate", "make test")
    low = shop.register_session("low", "--mode", "coordinate", "--grant", "plan")
    told = shop.call_as(low, *words, exits=REFUSED)
    assert "Session low has the grant plan, so it may not set gates." in told
    assert f"maestro session grant {low['id']} edit" in told
    assert [shop.call_json("task", "show", ref)["gates"] for ref in ("#1", "#2")] == [[], ["make test"]]
    shop.run_maestro("session", "grant", "low", "edit")
    shop.call_as(low, "task", "create", "t", "--gate", "true")


def test_a_worker_registers_sessions_only_as_its_member_and_in_its_checkout(shop: Workshop, tmp_path: Path) -> None:
    shop.run_maestro("member", "create", "ada", "--role", "x")
    shop.run_maestro("member", "create", "bob", "--role", "x")
    other = tmp_path / "other" / "vc"
    shop.run_git("clone", "-q", str(shop.repo), str(other))
    shop.run_git("-C", str(other), "remote", "set-url", "origin", shop.run_git("remote", "get-url", "origin").strip())
    assert shop.live.run_command("init", cwd=other).returncode == 0
    worker = shop.register_session("worker", "--member", "ada")
    shop.run_maestro("mail", "send", "@bob", "--subject", "For bob", "--message", "Secret.")
    told = shop.call_as(worker, "session", "register", "--name", "spy", "--member", "bob", exits=REFUSED)
    assert "as its own member or without a member" in told
    told = shop.call_as(worker, "session", "register", "--name", "spy", exits=REFUSED, cwd=other)
    assert "in its own checkout" in told
    shop.call_as(worker, "session", "register", "--name", "helper", "--member", "ada")
    shop.call_as(worker, "session", "register", "--name", "plain")
    lead = shop.register_session("lead", "--mode", "coordinate")
    shop.call_as(lead, "session", "register", "--name", "bobs", "--member", "bob")


def test_a_spawned_agent_starts_inside_the_checkout_for_every_given_path(shop: Workshop, tmp_path: Path) -> None:
    lead = shop.register_session("lead", "--mode", "coordinate")
    (shop.repo / "docs").mkdir()
    (shop.repo / "out").symlink_to(tmp_path)
    for path, expected in (
        (shop.repo / "docs", shop.repo / "docs"),
        (shop.repo / "docs" / ".." / ".." / "..", shop.repo),
        (shop.repo / "out", shop.repo),
        (tmp_path, shop.repo),
    ):
        answer = httpx.post(
            f"{shop.live.url}/api/sessions/spawn",
            json={"tool": "claude", "dry_run": True, "path": str(path)},
            headers={"Authorization": f"Bearer {lead['token']}"},
        )
        assert (answer.status_code, answer.json()["directory"]) == (200, str(expected))


def test_only_the_person_can_connect_and_disconnect_tools(shop: Workshop) -> None:
    lead = shop.register_coordinator()
    for words in (("connect", "claude"), ("disconnect", "claude"), ("connect", "codex", "--dry-run")):
        assert "Only the person runs" in shop.call_as(lead, *words, exits=REFUSED)


def test_only_the_person_can_write_a_backup_to_a_path(shop: Workshop, tmp_path: Path) -> None:
    lead = shop.register_coordinator()
    target = tmp_path / "stolen.tar"
    answer = httpx.post(
        f"{shop.live.url}/api/backup",
        json={"file": str(target)},
        headers={"Authorization": f"Bearer {lead['token']}"},
    )
    assert answer.status_code == 403 and not target.exists()


@pytest.mark.parametrize(
    "command",
    [
        "maestro x && rm -r y",
        "maestro x; rm y",
        "maestro x | sh",
        "maestro x\nrm y",
        "maestro $(rm y)",
        "maestro x > y",
    ],
)
def test_a_compound_command_is_never_allowed_by_a_pattern(command: str) -> None:
    policy = PermissionPolicy(("shell:maestro *",))
    assert policy.decide_actions(f"shell:{command}") is None
    assert policy.decide_actions("shell:maestro task list") is True


def _token(shop: Workshop, name: str) -> str:
    """Return the token of a spawned session from the environment of its program."""
    pid = shop.show_session(name)["pid"]
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next(one.partition(b"=")[2].decode() for one in variables if one.startswith(b"MAESTRO_TOKEN="))
