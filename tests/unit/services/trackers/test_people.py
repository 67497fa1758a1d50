"""Test the translation of names between Maestro and a tracker."""

from __future__ import annotations

from tests.unit.services.conftest import VC, World

from maestro.domain.callers import SERVER_NAME, Role
from maestro.domain.messages import Sender, SenderKind
from maestro.services.trackers import people
from maestro.testing.factories import make_task


async def test_the_actor_of_a_session_is_the_name_of_the_session(world: World) -> None:
    worker = await world.join("worker")
    assert await world.store.read(lambda tx: people.actor_of(tx, worker.name)) == "worker"


async def test_the_actor_of_a_holder_that_is_no_session_is_the_name_of_the_holder(world: World) -> None:
    names = await world.store.read(
        lambda tx: [people.actor_of(tx, holder) for holder in (None, "tracker:alice", "dana", "ses_unknown")]
    )
    assert names == [SERVER_NAME, "alice", "dana", "ses_unknown"]


def test_the_author_from_another_project_is_named_by_address() -> None:
    sender = Sender(SenderKind.SESSION, "ses_1", "worker", "dave/vc", "", "vc")
    assert people.author_of(sender, "vc") == "worker"
    assert people.author_of(sender, "other") == "dave/vc"
    without_address = Sender(SenderKind.SESSION, "ses_1", "worker", None, "", "vc")
    assert people.author_of(without_address, "other") == "worker"


async def test_an_assignee_with_the_name_of_the_present_holder_is_that_holder(world: World) -> None:
    first = await world.join("worker")
    await world.end(first)
    task = make_task(holder=first.name, project_id=VC.id)
    assert await world.store.read(lambda tx: people.holder_for(tx, task, "worker")) == first.name


async def test_an_assignee_with_the_name_of_a_live_session_is_that_session(world: World) -> None:
    worker = await world.join("worker")
    task = make_task(project_id=VC.id)
    assert await world.store.read(lambda tx: people.holder_for(tx, task, "worker")) == worker.name
    await world.end(worker)
    assert await world.store.read(lambda tx: people.holder_for(tx, task, "worker")) == "tracker:worker"


async def test_an_unknown_or_missing_assignee_is_a_user_of_the_tracker(world: World) -> None:
    task = make_task(project_id=VC.id, holder="dana")
    holders = await world.store.read(lambda tx: [people.holder_for(tx, task, name) for name in ("alice", None)])
    assert holders == ["tracker:alice", "tracker:someone"]


def test_a_user_of_the_tracker_calls_as_a_person_without_a_session() -> None:
    caller = people.caller_from_tracker("alice")
    assert (caller.role, caller.name, caller.is_session) == (Role.PERSON, "tracker:alice", False)
