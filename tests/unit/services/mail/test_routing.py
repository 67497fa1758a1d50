"""Each form of address resolves to a mailbox or an error, and mail for an ended session goes to a live session."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.domain.messages import HUMAN_MAILBOX
from maestro.operations.members import OneMember
from maestro.operations.sessions import AdoptSessions
from maestro.services.mail import routing
from maestro.services.mail.create import MailTarget
from maestro.services.members import registry as members
from maestro.services.sessions import adoption

World = Any
VC, OTHER, DAVE = "prj_00000000000000000000000000", "prj_00000000000000000000000001", "wsp_00000000000000000000000000"


async def resolve(world: World, text: str, by: Caller | None = None, project: str = "") -> MailTarget:
    caller = by or world.dana
    found: MailTarget = await world.store.read(lambda tx: routing.resolve_address(tx, caller, text, project=project))
    return found


async def test_every_form_of_address_resolves_to_its_mailbox(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("parser", under=boss, path="/src/dave/vc/src")
    sibling = await world.join("lexer", under=boss)
    ada = await world.member("ada")
    task = await world.task(held_by=worker)
    forms = {
        worker.name: worker.name,
        f"session:{worker.name}": worker.name,
        "session:parser": worker.name,
        "parser": worker.name,
        "dave/vc": DAVE,
        "agent:dave/vc": DAVE,
        DAVE: DAVE,
        "vc": VC,
        "VC": VC,
        "project:vc": VC,
        VC: VC,
        "example.org/vc": VC,
        "project:example.org/other": OTHER,
        "other": OTHER,
        "@ada": ada.id,
        "@Ada": ada.id,
        "member:ada": ada.id,
        ada.id: ada.id,
        "vc#1": worker.name,
        "#1": worker.name,
        task.id: worker.name,
        "coordinator": boss.name,
        "human": HUMAN_MAILBOX,
    }
    for text, mailbox in forms.items():
        assert (await resolve(world, text, sibling)).mailbox == mailbox, text
        assert (await resolve(world, text, project="vc")).mailbox == mailbox, text  # as the person in project vc


async def test_a_target_has_the_name_of_the_recipient(world: World) -> None:
    worker = await world.join("parser")
    await world.member("ada")
    named = [await resolve(world, text, worker) for text in ("parser", "@ada", "vc", "dave/vc", "human")]
    assert [(one.name, one.reason) for one in named] == [
        (name, None) for name in ("parser", "@ada", "vc", "dave/vc", "human")
    ]


async def test_an_ambiguous_name_is_refused_with_the_candidates(world: World) -> None:
    worker, named = await world.join("parser"), await world.join("other")
    with pytest.raises(errors.Ambiguous) as refused:
        await resolve(world, "other", worker)
    assert refused.value.data["candidates"] == ["session:other", "project:other"]
    for text, mailbox in (("session:other", named.name), ("project:other", OTHER)):
        assert text in refused.value.hint and (await resolve(world, text, worker)).mailbox == mailbox


async def test_a_name_means_a_session_of_the_project_at_hand_only(world: World) -> None:
    here, there = await world.join("w"), await world.join("w", project=OTHER)
    assert (await resolve(world, "w", here)).mailbox == here.name
    assert (await resolve(world, "w", there)).mailbox == there.name
    assert (await resolve(world, "w", project="other")).mailbox == there.name
    with pytest.raises(errors.NotFound):
        await resolve(world, "w")  # as the person without a project


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("nobody", "maestro session list"),
        ("session:nobody", "maestro session list"),
        ("@nobody", "maestro member list"),
        ("nobody/vc", "maestro project show"),
        ("project:nothing", "maestro project list"),
        ("example.org/nothing/here", "maestro project list"),
        ("vc#99", "maestro task list"),
    ],
)
async def test_an_unknown_address_is_not_found_and_the_hint_names_a_list_command(
    world: World, text: str, hint: str
) -> None:
    worker = await world.join("w")
    with pytest.raises(errors.NotFound) as refused:
        await resolve(world, text, worker)
    assert hint in refused.value.hint


async def test_a_member_name_without_an_at_sign_is_not_found_and_the_hint_names_the_address(world: World) -> None:
    worker = await world.join("w")
    await world.member("ada")
    with pytest.raises(errors.NotFound) as refused:
        await resolve(world, "ada", worker)
    assert "@ada" in refused.value.hint


async def test_an_archived_member_gets_no_mail(world: World) -> None:
    worker, ada = await world.join("w"), await world.member("ada")
    await world.do(members.archive_member, OneMember(project=VC, id="ada"))
    for text in ("@ada", ada.id):
        with pytest.raises(errors.NotFound):
            await resolve(world, text, worker)


async def test_mail_to_a_task_goes_to_the_holder_else_to_the_creator_else_to_the_project(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(by=boss)
    await world.task(by=boss, held_by=worker)
    await world.task(by=boss, held_by=world.dana)
    await world.task()
    other = await world.join("other")
    found = [(await resolve(world, f"vc#{number}", other)).mailbox for number in (1, 2, 3, 4)]
    assert found == [boss.name, worker.name, HUMAN_MAILBOX, VC]
    await world.end(boss)
    assert (await resolve(world, "vc#1")).mailbox == VC


async def test_mail_to_a_task_does_not_go_to_the_sender(world: World) -> None:
    boss = await world.boss("boss")
    worker = await world.join("w", under=boss)
    await world.task(by=boss, held_by=worker)
    await world.task(by=boss, held_by=boss)
    await world.task(held_by=worker)
    assert (await resolve(world, "vc#1", worker)).mailbox == boss.name
    assert (await resolve(world, "vc#2", boss)).mailbox == VC
    assert (await resolve(world, "vc#3", worker)).mailbox == HUMAN_MAILBOX


async def test_mail_to_the_coordinator_goes_to_the_person_if_the_session_has_no_coordinator(world: World) -> None:
    assert (await resolve(world, "coordinator", await world.join("w"))).mailbox == HUMAN_MAILBOX


async def test_the_address_coordinator_of_the_person_means_the_only_top_coordinator(world: World) -> None:
    with pytest.raises(errors.NotFound):
        await resolve(world, "coordinator", project="vc")
    boss = await world.boss("boss")
    await world.boss("deputy", under=boss)  # a deputy is not a top coordinator
    await world.join("w", under=boss)
    assert (await resolve(world, "coordinator", project="vc")).mailbox == boss.name
    await world.boss("rival")
    with pytest.raises(errors.Ambiguous) as refused:
        await resolve(world, "coordinator", project="vc")
    assert refused.value.data["candidates"] == ["session:boss", "session:rival"]


async def test_mail_for_an_ended_session_goes_up_to_the_next_live_session_with_a_reason(world: World) -> None:
    top = await world.boss("top")
    boss = await world.boss("boss", under=top)
    worker = await world.join("w", under=boss)
    heir = await world.boss("heir", under=top)

    async def goes() -> tuple[str, str | None]:
        target = await resolve(world, worker.name, world.dana)
        by_name = await resolve(world, "w", project="vc")
        assert by_name == target
        return target.mailbox, target.reason

    assert await goes() == (worker.name, None)
    await world.end(worker, "failed")
    assert await goes() == (boss.name, "w has ended (failed); the message goes to boss")
    await world.end(boss, "lost")
    assert await goes() == (top.name, "w has ended (failed); the message goes to top")
    await world.join("other-w", under=heir)
    await world.store.write(lambda tx: tx.sessions.set_successor(boss.name, successor_id=heir.name))
    assert await goes() == (heir.name, "w has ended (failed); the message goes to heir")
    await world.end(heir)
    assert (await goes())[0] == top.name  # the coordinator of the successor
    await world.end(top)
    mailbox, reason = await goes()
    assert mailbox == HUMAN_MAILBOX and reason == "w has ended (failed), and no session above it is active"


async def test_mail_to_an_ended_coordinator_goes_to_the_successor_that_adopted_its_sessions(world: World) -> None:
    boss, heir = await world.boss("boss"), await world.boss("heir")
    worker = await world.join("w", under=boss)
    await world.end(boss, "lost")
    assert (await resolve(world, "coordinator", worker)).mailbox == HUMAN_MAILBOX
    await world.do(adoption.adopt_sessions, AdoptSessions(ids=[boss.name], by=heir.name))
    assert (await resolve(world, "coordinator", await world.caller(worker.name))).mailbox == heir.name
    assert (await resolve(world, boss.name, worker)).mailbox == heir.name


async def test_mail_to_a_session_in_a_cycle_of_ended_successors_goes_to_the_person(world: World) -> None:
    one, two = await world.boss("one"), await world.boss("two")
    for gone, heir in ((one, two), (two, one)):
        await world.store.write(lambda tx, g=gone, h=heir: tx.sessions.set_successor(g.name, successor_id=h.name))
    await world.end(one)
    await world.end(two)
    assert (await resolve(world, one.name)).mailbox == HUMAN_MAILBOX


async def test_a_checkout_address_with_the_project_first_is_answered_with_the_right_order(world: World) -> None:
    with pytest.raises(errors.NotFound) as refused:
        await resolve(world, "vc/dave")
    assert refused.value.hint == "Did you mean dave/vc?"
    with pytest.raises(errors.NotFound) as refused:
        await resolve(world, "vc/erin")
    assert "project show" in refused.value.hint
