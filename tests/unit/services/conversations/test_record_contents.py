"""Maestro reads usage and received texts from the record file of a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.services.conversations.conftest import TerminalSession

from maestro.core import limits
from maestro.tools.hook_dialect import EMPTY_REPLY, HookMoment, StartReason
from maestro.wire.runner_folder import EARLIER_SESSIONS, SESSIONS


async def test_the_record_confirms_a_push_that_arrived_while_no_server_ran(
    terminal: TerminalSession, tmp_path: Path
) -> None:
    await terminal.finish_first_turn()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.push_mail()
    record = tmp_path / "c1.jsonl"
    lines = [
        {"type": "queue-operation", "content": "not yet in"},
        {"message": {"role": "user", "content": pushed["text"]}},
        {"message": {"id": "m1", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 4}}},
        {"message": {"id": "m1", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 5}}},
        {"message": {"id": "m2", "model": "<synthetic>", "usage": {"input_tokens": 9, "output_tokens": 9}}},
    ]
    record.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    terminal.restart()
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert await terminal.delivery_state(sent) == "read"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 1
    (used,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert (used.turns, used.input_tokens, used.output_tokens) == (1, 3, 5)
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    (again,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert again == used, "usage that was counted is not counted again"


async def test_a_push_that_only_the_record_confirms_is_marked_read_with_other_mail(
    terminal: TerminalSession, tmp_path: Path
) -> None:
    await terminal.finish_first_turn()
    first = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.push_mail()
    second = await terminal.world.send(None, "w", message="And there.")
    assert "And there." in (await terminal.fire(HookMoment.AFTER_TOOL)).text
    record = tmp_path / "c1.jsonl"
    record.write_text(json.dumps({"message": {"role": "user", "content": pushed["text"]}}) + "\n")
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert [await terminal.delivery_state(one) for one in (first, second)] == ["read", "read"]
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 1


async def test_a_queued_text_in_the_record_confirms_no_push(terminal: TerminalSession, tmp_path: Path) -> None:
    await terminal.finish_first_turn()
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.push_mail()
    record = tmp_path / "c1.jsonl"
    queued = {"type": "queue-operation", "operation": "enqueue", "content": pushed["text"]}
    record.write_text(json.dumps(queued, separators=(",", ":")) + "\n")
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert await terminal.delivery_state(sent) == "delivered"


async def test_the_record_is_read_before_a_push_is_repeated(terminal: TerminalSession, tmp_path: Path) -> None:
    record = tmp_path / "c1.jsonl"
    record.write_text("{}\n")
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.push_mail()
    with record.open("a") as file:
        file.write(json.dumps({"message": {"role": "user", "content": pushed["text"]}}) + "\n")
    terminal.restart()  # no server received the hook of the push
    await terminal.fire(HookMoment.MODEL)
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 1
    assert await terminal.fire(HookMoment.AFTER_TOOL) is EMPTY_REPLY
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert await terminal.delivery_state(sent) == "read"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.push_mail()) == 1


async def test_the_usage_in_a_new_record_is_counted_from_the_start_of_the_record(
    terminal: TerminalSession, tmp_path: Path
) -> None:
    await terminal.finish_first_turn()
    for name, many in (("c1", 1), ("c2", 4), ("c2", 5)):
        lines = [{"message": {"id": f"{name}-{n}", "model": "x", "usage": {"output_tokens": 1}}} for n in range(many)]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        await terminal.fire(HookMoment.STOP, transcript=str(tmp_path / name))
    (used,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert used.output_tokens == 6


async def test_the_usage_in_the_old_part_of_a_resumed_record_is_not_counted(
    terminal: TerminalSession, tmp_path: Path
) -> None:
    await terminal.finish_first_turn()
    old, new = tmp_path / "old", tmp_path / "new"
    line = json.dumps({"message": {"id": "m1", "model": "x", "usage": {"output_tokens": 1}}}) + "\n"
    old.write_text(line * 3)
    new.write_text(line)
    await terminal.fire(HookMoment.STOP, transcript=str(new))
    await terminal.fire(HookMoment.STARTS, transcript=str(old), start_reason=StartReason.RESUMED)
    old.write_text(line * 3 + line.replace("m1", "m2"))
    await terminal.fire(HookMoment.STOP, transcript=str(old))
    (used,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert used.output_tokens == 2


@pytest.mark.parametrize("has_link", [True, False])
async def test_the_usage_in_a_record_is_counted_once_after_its_folder_got_another_name(
    terminal: TerminalSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_link: bool
) -> None:
    monkeypatch.setattr(terminal.program.runner, "session_folder", lambda id: tmp_path / SESSIONS / id)
    await terminal.finish_first_turn()
    earlier, present = (tmp_path / name / terminal.caller.name for name in (EARLIER_SESSIONS, SESSIONS))
    earlier.mkdir(parents=True)
    line = json.dumps({"message": {"id": "m1", "model": "x", "usage": {"output_tokens": 1}}}) + "\n"
    (earlier / "c1").write_text(line)
    await terminal.fire(HookMoment.STOP, transcript=str(earlier / "c1"))
    earlier.parent.rename(present.parent)
    if has_link:
        earlier.parent.symlink_to(SESSIONS)
    (present / "c1").write_text(line + line.replace("m1", "m2"))  # a turn while no server ran
    await terminal.fire(HookMoment.STARTS, transcript=str(present / "c1"), start_reason=StartReason.RESUMED)
    await terminal.fire(HookMoment.STOP, transcript=str(present / "c1"))
    (used,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert used.output_tokens == 2
