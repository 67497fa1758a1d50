"""A snapshot holds the mail, the primer and the receipts of a session at the time of a hook event."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.services.conftest import World
from tests.unit.services.conversations.conftest import ProgramSession, ProtocolHooks, TerminalSession

from maestro.core import limits
from maestro.domain.priorities import Priority
from maestro.services.hooks.hook_state import HookState
from maestro.services.hooks.snapshot import HookSnapshot, is_driven, read_snapshot
from maestro.services.mail import receipts
from maestro.tools.hook_dialect import HookEvent, HookMoment, StartReason


@pytest.mark.parametrize(
    ("beginning", "is_told"),
    [
        (StartReason.NEW, False),
        (StartReason.RESUMED, False),
        (StartReason.COMPACTED, True),
        (StartReason.CLEARED, True),
    ],
)
async def test_a_driven_program_gets_its_primer_after_its_context_was_lost(
    hooks: ProtocolHooks, beginning: StartReason, is_told: bool
) -> None:
    assert bool((await hooks.fire(HookMoment.STARTS, start_reason=beginning)).text) is is_told


async def snapshot(
    terminal: TerminalSession, moment: HookMoment, *, state: HookState | None = None, **fields: Any
) -> HookSnapshot:
    event = HookEvent(tool=terminal.program.tool, event="x", moment=moment, **fields)
    kept = state or HookState()
    return await terminal.world.store.read(lambda tx: read_snapshot(tx, terminal.caller, event, kept))


def subjects(snapshot: HookSnapshot) -> list[str]:
    return [message.subject for message in snapshot.mail]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (HookMoment.PROMPT, ["usual", "critical"]),
        (HookMoment.AFTER_TOOL, ["usual", "critical"]),
        (HookMoment.STOP, ["usual", "critical"]),
        (HookMoment.BEFORE_TOOL, ["critical"]),
        (HookMoment.MODEL, []),
        (HookMoment.ENDS, []),
    ],
)
async def test_the_moment_decides_which_mail_a_reply_can_carry(
    terminal: TerminalSession, moment: HookMoment, expected: list[str]
) -> None:
    await terminal.world.send(None, "w", subject="usual")
    await terminal.world.send(None, "w", subject="critical", priority=Priority.CRITICAL)
    assert sorted(subjects(await snapshot(terminal, moment))) == sorted(expected)


async def test_mail_on_its_way_or_in_an_unconfirmed_reply_is_not_shown_again(terminal: TerminalSession) -> None:
    for subject in ("first", "second", "third"):
        await terminal.world.send(None, "w", subject=subject)
    first, second, third = await terminal.world.unread(terminal.caller)
    state = HookState(mail_on_its_way={first.seq}, mail_being_marked_read={second.seq})
    assert subjects(await snapshot(terminal, HookMoment.STOP, state=state)) == ["third"]
    state.unconfirmed_receipts = [receipts.receipt_for([third])]
    assert subjects(await snapshot(terminal, HookMoment.STOP, state=state)) == []


async def test_a_reply_carries_a_limited_number_of_messages(terminal: TerminalSession) -> None:
    for number in range(limits.hook_messages_max):
        await terminal.world.send(None, "w", subject=str(number))
    full = await snapshot(terminal, HookMoment.STOP)
    assert (len(full.mail), full.has_more_mail) == (limits.hook_messages_max, False)
    await terminal.world.send(None, "w", subject="more")
    more = await snapshot(terminal, HookMoment.STOP)
    assert (len(more.mail), more.has_more_mail) == (limits.hook_messages_max, True)


async def test_critical_mail_of_the_person_comes_before_critical_mail_of_agents(terminal: TerminalSession) -> None:
    world = terminal.world
    peer = await world.join("peer")
    for number in range(limits.hook_messages_max + 1):
        await world.send(peer, "w", subject=str(number), priority=Priority.CRITICAL)
    await world.send(None, "w", subject="person", priority=Priority.CRITICAL)
    assert subjects(await snapshot(terminal, HookMoment.BEFORE_TOOL))[0] == "person"


async def test_the_primer_of_a_spawned_session_is_due_after_its_context_was_lost(terminal: TerminalSession) -> None:
    assert (await snapshot(terminal, HookMoment.STARTS)).primer == "", "the first prompt holds the same text"
    assert (await snapshot(terminal, HookMoment.STARTS, start_reason=StartReason.CLEARED)).primer
    state = HookState(is_primer_due=True)  # after a compaction
    assert (await snapshot(terminal, HookMoment.AFTER_TOOL, state=state)).primer
    assert (await snapshot(terminal, HookMoment.AFTER_TOOL, state=state, is_from_subagent=True)).primer == ""


async def test_the_primer_of_a_session_that_was_started_by_hand_is_due_at_the_start(world: World) -> None:
    worker = await world.join("by-hand", tool="claude")
    event = HookEvent(tool="claude", event="x", moment=HookMoment.STARTS)
    found = await world.store.read(lambda tx: read_snapshot(tx, worker, event, HookState()))
    assert found.primer and found.spawn is None and not found.is_driven


async def test_a_program_with_a_protocol_is_driven(program: ProgramSession) -> None:
    assert is_driven(await program.conversation()) and not is_driven(None)


async def test_a_program_whose_hooks_report_its_state_is_not_driven(terminal: TerminalSession) -> None:
    assert not is_driven(await terminal.program.conversation())


@pytest.mark.parametrize("moment", HookMoment)
@pytest.mark.parametrize("receipts", [None, [], ["r1:s1"]])
async def test_a_snapshot_changes_no_state(world: World, moment: HookMoment, receipts: list[str] | None) -> None:
    caller = await world.join("claude")
    event = HookEvent(tool="claude", event="x", moment=moment)
    state = HookState(unconfirmed_receipts=receipts)
    before = copy.deepcopy(state)
    first = await world.store.read(lambda tx: read_snapshot(tx, caller, event, state))
    assert state == before
    second = await world.store.read(lambda tx: read_snapshot(tx, caller, event, state))
    assert (first.mail, first.primer) == (second.mail, second.primer), "a repeated read returns the same facts"
    assert first.unconfirmed_receipts == tuple(receipts or ())


async def test_a_snapshot_names_the_stored_receipts(world: World) -> None:
    caller = await world.join("claude")
    await world.store.write(lambda tx: tx.hooks.put_answer(caller.name, "r1:s7", at=tx.at))
    event = HookEvent(tool="claude", event="x", moment=HookMoment.PROMPT)
    snapshot = await world.store.read(lambda tx: read_snapshot(tx, caller, event, HookState()))
    assert snapshot.unconfirmed_receipts == ("r1:s7",)
