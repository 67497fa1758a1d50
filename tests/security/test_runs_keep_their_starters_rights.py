"""Tests that a run never has more rights than the caller that started it, also after the caller's session ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

REFUSED = 4
RAISES = ("sh", "-c", "maestro config set events_days 33")


def setting(shop: Workshop) -> str:
    return shop.run_maestro("config", "get", "events_days").strip()


def waiting_run(shop: Workshop, lead: dict[str, Any], *words: str) -> tuple[str, dict[str, Any]]:
    """Start a run of task #2, which waits for #1. Return the run and the worker that holds #1."""
    shop.create_task("First")
    shop.create_task("Second", "--depends-on", "#1")
    worker = shop.register_session("worker")
    shop.call_as(worker, "task", "start", "#1")
    started = json.loads(shop.call_as(lead, "run", "#2", "--detach", "--json", *words))
    return started["id"], worker


def refused_attempt(shop: Workshop, run_id: str) -> str:
    """Return the reason why the first session of the run was not started."""

    def look() -> str | None:
        (task,) = shop.call_json("run", "show", run_id)["tasks"]
        return task["note"] if task["attempts"] else None

    return str(wait_until(look, what="the first attempt of the run"))


def test_a_run_as_a_member_with_more_rights_is_refused_at_the_start(shop: Workshop) -> None:
    shop.run_maestro("member", "create", "boss", "--role", "x", "--allow", "config.set")
    lead = shop.register_coordinator()
    shop.create_task("Work")
    shop.call_as(lead, "session", "spawn", "--member", "boss", "--", *RAISES, exits=REFUSED)
    told = shop.call_as(lead, "run", "#1", "--detach", "--member", "boss", "--", *RAISES, exits=REFUSED)
    assert "more rights than its own" in told and shop.call_json("run", "list")["runs"] == []
    shop.run_maestro("task", "edit", "#1", "--member", "boss")
    shop.call_as(lead, "run", "#1", "--detach", "--", *RAISES, exits=REFUSED)


def test_a_run_gains_no_operation_after_the_session_that_started_it_has_ended(shop: Workshop) -> None:
    before = setting(shop)
    shop.run_maestro("member", "create", "boss", "--role", "x")
    lead = shop.register_coordinator()
    run_id, worker = waiting_run(shop, lead, "--member", "boss", "--", *RAISES)
    shop.call_as(lead, "session", "end")
    shop.run_maestro("member", "edit", "boss", "--allow", "config.set")  # more than the run's starter may do
    shop.call_as(worker, "task", "complete", "#1")
    assert "more rights than its own" in refused_attempt(shop, run_id)
    assert setting(shop) == before


def test_a_run_without_a_member_cannot_avoid_the_denied_operations_of_the_starting_session(shop: Workshop) -> None:
    shop.run_maestro("member", "create", "tied", "--role", "x", "--deny", "task.create")
    lead = shop.register_coordinator("lead", "--member", "tied")
    shop.create_task("Work")
    told = shop.call_as(lead, "run", "#1", "--detach", "--", "maestro", "task", "create", "More", exits=REFUSED)
    assert "more rights than its own" in told


def test_a_denied_operation_stays_denied_after_the_session_that_started_the_run_has_ended(shop: Workshop) -> None:
    shop.run_maestro("member", "create", "tied", "--role", "x")
    lead = shop.register_coordinator("lead", "--member", "tied")
    run_id, worker = waiting_run(shop, lead, "--", "maestro", "task", "create", "More")
    shop.run_maestro("member", "edit", "tied", "--deny", "task.create")
    shop.call_as(lead, "session", "end")
    shop.call_as(worker, "task", "complete", "#1")
    assert "more rights than its own" in refused_attempt(shop, run_id)
    assert [one["title"] for one in shop.call_json("task", "list")["tasks"]] == ["First", "Second"]


def test_a_run_continues_with_the_rights_of_the_ended_session_that_started_it(shop: Workshop) -> None:
    lead = shop.register_coordinator()
    run_id, worker = waiting_run(shop, lead, "--", "true")
    shop.call_as(lead, "session", "end")
    shop.call_as(worker, "task", "complete", "#1")
    over = shop.wait_for_run_end(run_id)
    assert over["status"] == "completed"
    made = next(one for one in shop.call_json("session", "list")["sessions"] if one["name"] == "t2.1")
    assert (made["parent_id"], made["grant"]) == (lead["id"], "edit")
    assert over["rights"] == {"role": "coordinator", "allow": [], "deny": [], "grant": "full"}


@pytest.mark.parametrize("grant", ["full", "edit"])
def test_a_successor_cannot_add_rights_to_a_run_but_can_reduce_them(shop: Workshop, grant: str) -> None:
    lead = shop.register_coordinator()
    heir = shop.register_session("heir", "--mode", "coordinate", "--grant", grant)
    run_id, worker = waiting_run(shop, lead, "--", "true")
    shop.call_as(lead, "session", "register", "--name", "left-behind")  # only a session with workers gets a successor
    shop.call_as(lead, "session", "end")
    shop.call_as(heir, "session", "adopt", lead["id"])
    shop.call_as(worker, "task", "complete", "#1")
    if grant == "full":
        assert shop.wait_for_run_end(run_id)["status"] == "completed"
        made = next(one for one in shop.call_json("session", "list")["sessions"] if one["name"] == "t2.1")
        assert made["parent_id"] == heir["id"]
    else:
        assert "Session heir has the grant edit" in refused_attempt(shop, run_id)


def test_a_run_of_the_person_keeps_the_rights_of_the_person(shop: Workshop) -> None:
    shop.run_maestro("member", "create", "boss", "--role", "x", "--allow", "config.set")
    shop.create_task("Work")
    over = shop.run_to_end("#1", "--member", "boss", "--", *RAISES)
    assert over["status"] == "completed" and setting(shop).endswith("33")


def test_the_person_changes_the_grant_of_a_run_also_after_the_starting_session_has_ended(shop: Workshop) -> None:
    lead = shop.register_coordinator()
    run_id, worker = waiting_run(shop, lead, "--attempts", "5", "--", "true")
    shop.call_as(lead, "session", "end")
    shop.run_maestro("session", "grant", lead["id"], "edit")
    shop.call_as(worker, "task", "complete", "#1")
    told = refused_attempt(shop, run_id)
    assert "Session lead has the grant edit" in told
    shop.run_maestro("session", "grant", lead["id"], "full")
    assert shop.wait_for_run_end(run_id)["status"] == "completed"


def test_a_run_starts_no_session_when_the_starting_member_may_no_longer_start_runs(shop: Workshop) -> None:
    shop.run_maestro("member", "create", "tied", "--role", "x")
    lead = shop.register_coordinator("lead", "--member", "tied")
    run_id, worker = waiting_run(shop, lead, "--member", "tied", "--", "true")
    shop.call_as(lead, "session", "end")
    shop.run_maestro("member", "edit", "tied", "--deny", "run.start")
    shop.call_as(worker, "task", "complete", "#1")
    assert "may no longer start runs" in refused_attempt(shop, run_id)
