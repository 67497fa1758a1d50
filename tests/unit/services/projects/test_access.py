"""The inbound policy of a project decides which sessions of other projects may write to the project."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.links import LinkSource, ProjectLink
from maestro.domain.projects import InboundPolicy
from maestro.operations.issues import OpenIssue
from maestro.operations.projects import EditProject
from maestro.services.issues.operations import IssueOperations
from maestro.services.projects import access, registry

World = Any


async def set_policy(world: World, policy: InboundPolicy) -> None:
    await world.do(registry.edit_project, EditProject(project="vc", inbound=policy))


async def write_to_vc(world: World, caller: Any) -> None:
    """Let the caller write to project vc, and to a mailbox of the project."""

    def check(tx: Any) -> None:
        receiver = tx.projects.by_name("vc")
        access.require_inbound(tx, caller, receiver, caller.project_id)
        access.require_mailbox_access(tx, caller, receiver.id)

    await world.store.read(check)


async def link_other_project(world: World) -> None:
    """Let the checkout of vc name the project `other`."""

    def put(tx: Any) -> None:
        other = tx.projects.by_name("other")
        link = ProjectLink(
            name="other", project_id=other.id, project=other.name, key=other.key, source=LinkSource.CONFIG
        )
        tx.links.put("wsp_00000000000000000000000000", link)

    await world.store.write(put)


async def test_an_open_project_admits_every_session(world: World) -> None:
    await set_policy(world, InboundPolicy.OPEN)
    await write_to_vc(world, await world.join("stranger", project="other"))


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (InboundPolicy.CLOSED, "takes no mail or issues from other projects"),
        (InboundPolicy.KNOWN, "takes mail and issues only from projects that it knows"),
    ],
)
async def test_a_refusal_names_the_inbound_policy_and_the_remedy(
    world: World, policy: InboundPolicy, reason: str
) -> None:
    await set_policy(world, policy)
    stranger = await world.join("stranger", project="other")
    with pytest.raises(errors.NotPermitted, match=f"vc {reason}, so it refuses other") as refused:
        await write_to_vc(world, stranger)
    assert refused.value.data == {"project": "vc", "inbound": policy.value, "from": "other"}
    assert "maestro project edit vc --inbound open" in refused.value.hint


async def test_a_closed_project_admits_its_own_sessions_and_the_person(world: World) -> None:
    await set_policy(world, InboundPolicy.CLOSED)
    await write_to_vc(world, await world.join("own"))
    await write_to_vc(world, world.dana)


async def test_a_mailbox_without_a_project_is_open_to_every_session(world: World) -> None:
    stranger = await world.join("stranger", project="other")
    await world.store.read(lambda tx: access.require_mailbox_access(tx, stranger, None))


async def test_the_inbound_policy_of_a_project_applies_to_its_mailbox(world: World) -> None:
    await set_policy(world, InboundPolicy.CLOSED)
    stranger = await world.join("stranger", project="other")
    receiver = (await world.task()).project_id
    with pytest.raises(errors.NotPermitted):
        await world.store.read(lambda tx: access.require_mailbox_access(tx, stranger, receiver))


@pytest.mark.parametrize(("policy", "admits"), [(InboundPolicy.KNOWN, True), (InboundPolicy.CLOSED, False)])
async def test_a_linked_project_counts_as_known(world: World, policy: InboundPolicy, admits: bool) -> None:
    await link_other_project(world)
    await set_policy(world, policy)
    stranger = await world.join("stranger", project="other")
    if admits:
        await write_to_vc(world, stranger)
    else:
        with pytest.raises(errors.NotPermitted):
            await write_to_vc(world, stranger)


async def test_a_project_that_received_an_issue_counts_as_known_to_the_opening_project(world: World) -> None:
    await set_policy(world, InboundPolicy.KNOWN)
    opener, stranger = await world.join("opener"), await world.join("stranger", project="other")
    with pytest.raises(errors.NotPermitted):
        await write_to_vc(world, stranger)
    issue = OpenIssue(to="other", title="Crash", message="It crashes.")
    await world.do(IssueOperations(world.guard).open_issue, issue, by=opener)
    await write_to_vc(world, stranger)
