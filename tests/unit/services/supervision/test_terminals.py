"""Test the logs of terminals and the refusals to attach to a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.services.conftest import World
from tests.unit.services.supervision.conftest import add_spawn

from maestro.core import errors
from maestro.domain.callers import Caller
from maestro.operations import terminals as ops
from maestro.services.supervision.terminals import Terminals
from maestro.wire import runner_folder


class Shown:
    """A spawned session without a runner; a test writes its transcript."""

    def __init__(self, world: World, caller: Caller, folder: Path) -> None:
        self.world, self.caller, self.folder = world, caller, folder
        runners: Any = SimpleNamespace(session_folder=lambda session_id: folder)
        self.terminals = Terminals(world.store, runners)

    def write(self, *pieces: str, name: str = runner_folder.TRANSCRIPT, rest: str = "") -> None:
        events = [json.dumps([0.1, "o", piece]) for piece in pieces]
        (self.folder / name).write_text("\n".join(['{"version": 2}', *events]) + "\n" + rest)

    async def logs(self, **fields: Any) -> ops.SessionLogs:
        return await self.terminals.read_logs(self.world.dana, ops.ReadLogs(id=self.caller.name, **fields))


@pytest.fixture
async def shown(world: World, tmp_path: Path) -> Shown:
    caller = await world.join("worker")
    await add_spawn(world, caller)
    return Shown(world, caller, tmp_path)


async def test_logs_join_the_older_and_the_present_transcript(shown: Shown) -> None:
    shown.write("one\n", name=runner_folder.OLDER_TRANSCRIPT)
    shown.write("two\n", "three\n")
    logs = await shown.logs()
    assert (logs.text, logs.truncated, logs.name) == ("one\ntwo\nthree\n", False, "worker")


async def test_a_session_without_a_transcript_has_empty_logs(shown: Shown) -> None:
    assert (await shown.logs()).text == ""


async def test_logs_leave_out_input_and_half_written_lines(shown: Shown) -> None:
    shown.write("out", rest='[0.2, "i", "typed"]\n{"no": "event"}\n[0.3, "o", "hal')
    assert (await shown.logs()).text == "out"


@pytest.mark.parametrize(("tail", "text"), [(None, "a\nb\nc\n"), (2, "b\nc\n"), (0, ""), (9, "a\nb\nc\n")])
async def test_logs_with_a_tail_contain_that_number_of_last_lines(shown: Shown, tail: int | None, text: str) -> None:
    shown.write("a\nb\n", "c\n")
    assert (await shown.logs(tail=tail)).text == text


async def test_logs_beyond_the_limit_are_truncated_at_their_beginning(shown: Shown) -> None:
    shown.write("abcdef")
    logs = await shown.logs(limit=4)
    assert (logs.text, logs.truncated) == ("cdef", True)


async def test_the_output_of_a_registered_session_cannot_be_followed(world: World, tmp_path: Path) -> None:
    shown = Shown(world, await world.join("guest"), tmp_path)
    with pytest.raises(errors.Conflict, match="guest was not started by Maestro"):
        await shown.logs(follow=True)


async def test_an_attach_is_refused_to_the_own_session_a_registered_session_and_an_ended_session(
    shown: Shown, tmp_path: Path
) -> None:
    request = ops.AttachSession(id=shown.caller.name)
    with pytest.raises(errors.Conflict, match="cannot attach to its own terminal"):
        await shown.terminals.find_terminal(shown.caller, request)
    guest = await shown.world.join("guest")
    with pytest.raises(errors.Conflict, match="guest was not started by Maestro"):
        await shown.terminals.find_terminal(shown.world.dana, ops.AttachSession(id=guest.name))
    await shown.world.end(shown.caller)
    with pytest.raises(errors.Conflict, match="has ended"):
        await shown.terminals.find_terminal(shown.world.dana, request)
