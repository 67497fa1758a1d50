"""Runners that a server of an earlier version started, and that reported a pid without a start time.

Without the start time the server cannot tell which session an orphan of the runner's agent belongs to. Therefore the
server completes the record once, at its start, from the note that the runner left in its folder.
"""

from __future__ import annotations

import asyncio

from maestro.core import limits
from maestro.core.clock import UNIX_EPOCH
from maestro.domain.spawns import Spawn
from maestro.services.runners.runners import RunnerNote, Runners
from maestro.store.base import Store, Tx
from maestro.system import processes


async def record_older_runners(store: Store, runners: Runners) -> None:
    """Complete the record of every live runner that this version of the server has not recorded itself."""
    live = await store.read(lambda tx: tx.spawns.list_live(after=UNIX_EPOCH, limit=limits.page_items_max))
    noted = [(spawn, runners.read_note(spawn.session_id)) for spawn in live if spawn.has_older_runner]
    confirmed = [(spawn, note) for spawn, note in noted if note is not None and _is_runner_of(note, spawn)]
    if confirmed:
        await store.write(lambda tx: _complete_records(tx, confirmed))


async def find_unknown_runners(store: Store, runners: Runners) -> dict[tuple[int, str], str]:
    """Return the processes of live runners whose sessions the store does not know, with their sessions' ids.

    A runner becomes unknown when the data directory is restored to an earlier state while its agent runs on.
    """
    unknown = {}
    for session_id in await asyncio.to_thread(runners.live_sessions):
        note = runners.read_note(session_id)
        spawn = await store.read(lambda tx, wanted=session_id: tx.spawns.get(wanted), quick=True)  # type: ignore[misc]
        if spawn is None and note is not None:
            unknown[note.runner, note.runner_started] = session_id
    return unknown


def _complete_records(tx: Tx, confirmed: list[tuple[Spawn, RunnerNote]]) -> None:
    for spawn, note in confirmed:
        tx.spawns.complete_runner(spawn.session_id, epoch=spawn.epoch, pid=note.runner, started=note.runner_started)


def _is_runner_of(note: RunnerNote, spawn: Spawn) -> bool:
    """Return whether the noted runner lives and is the parent of the noted agent."""
    try:
        chain = {(process.pid, process.started) for process in processes.ancestors_of(note.program)}
    except processes.AncestryUnreadable:
        return False
    noted = {(note.program, note.program_started), (note.runner, note.runner_started)}
    return note.epoch == spawn.epoch and noted <= chain
