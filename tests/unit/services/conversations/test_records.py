"""Agents in a terminal: what their program's own record of the conversation tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from maestro.core import limits
from maestro.tools.hook_dialect import EMPTY_REPLY, HookMoment, StartReason

Terminal = Any


async def test_its_record_tells_before_a_push_is_repeated(terminal: Terminal, tmp_path: Path) -> None:
    record = tmp_path / "c1.jsonl"
    record.write_text("{}\n")
    await terminal.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    sent = await terminal.world.send(None, "w", message="Look here.")
    (pushed,) = await terminal.wake()
    with record.open("a") as file:
        file.write(json.dumps({"message": {"role": "user", "content": pushed["text"]}}) + "\n")
    terminal.restart()  # its hook was heard by nobody
    await terminal.fire(HookMoment.MODEL)
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1
    assert await terminal.fire(HookMoment.AFTER_TOOL) is EMPTY_REPLY
    await terminal.fire(HookMoment.STOP, transcript=str(record))
    assert await terminal.state(sent) == "read"
    terminal.world.clock.advance(limits.push_confirm_seconds + 1)
    assert len(await terminal.wake()) == 1


async def test_another_record_is_counted_from_its_beginning(terminal: Terminal, tmp_path: Path) -> None:
    await terminal.at_rest()
    for name, many in (("c1", 1), ("c2", 4), ("c2", 5)):
        lines = [{"message": {"id": f"{name}-{n}", "model": "x", "usage": {"output_tokens": 1}}} for n in range(many)]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        await terminal.fire(HookMoment.STOP, transcript=str(tmp_path / name))
    (used,) = await terminal.world.store.read(
        lambda tx: tx.conversations.usage_of_session(terminal.caller.name, limit=9)
    )
    assert used.output_tokens == 6


async def test_what_stood_in_a_record_before_someone_went_back_to_it_is_not_counted(
    terminal: Terminal, tmp_path: Path
) -> None:
    await terminal.at_rest()
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
