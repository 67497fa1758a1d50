"""No live session becomes lost by a clock jump, a sleep, a server outage or a high number of sessions.

The tests set the clock, and run the background jobs in the order in which a server runs them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as evolve

from maestro.core import limits
from maestro.core.clock import to_micros
from maestro.domain.callers import Caller
from maestro.domain.sessions import Session, SessionStatus
from maestro.operations import sessions as ops
from maestro.server.app import Server
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.sessions.presence_job import PresenceJob
from maestro.system import processes
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_session

HOUR, DAY = 3600, 24 * 3600
ROUNDS_MAX = 10_000
STEP_SECONDS = 10
LONGEST = limits.session_lease_without_process_seconds + limits.sleep_grace_seconds + limits.session_lease_seconds


class World:
    """A server whose background jobs run only when a test calls them."""

    def __init__(self, server: Server, clock: FakeClock, dana: Caller, project: str) -> None:
        self.server = server
        self.clock = clock
        self.dana = dana
        self.project = project
        self.tokens: dict[str, str] = {}
        self.start()

    def start(self) -> None:
        """Create the background jobs of a server that has just started."""
        self.lost_sessions = LostSessionJob(self.server.store, self.server.parts.identity.presence, clock=self.clock)
        self.signs_of_life = PresenceJob(self.server.store, self.server.parts.identity.presence, clock=self.clock)

    async def register(self, name: str, *, pid: int | None = None) -> None:
        request = ops.RegisterSession(project=self.project, name=name, pid=pid)
        self.tokens[name] = (await self.server.call(ops.REGISTER, request, caller=self.dana)).token

    async def beat(self, name: str) -> None:
        caller = await self.server.identify(token=self.tokens[name], peer=None)
        await self.server.call(ops.HEARTBEAT, ops.SendHeartbeat(), caller=caller)

    async def look(self) -> None:
        """Run the jobs once: as many batches as are due."""
        await self.signs_of_life.run_once()
        for _ in range(ROUNDS_MAX):
            due = await self.lost_sessions.run_once()
            if due is None or due > self.clock.now():
                return
        raise AssertionError("the upkeep never comes to an end")

    async def pass_time(self, seconds: int, *, beats: dict[str, int]) -> None:
        """Let time pass. Each named session sends a heartbeat after each interval of so many seconds."""
        for second in range(0, seconds, STEP_SECONDS):
            for name, every in beats.items():
                if second % every == 0:
                    await self.beat(name)
            await self.look()
            self.clock.advance(STEP_SECONDS)

    async def statuses(self) -> dict[str, SessionStatus]:
        request = ops.ListSessions(project=self.project, limit=limits.page_items_max)
        found = await self.server.call(ops.LIST, request, caller=self.dana)
        return {session.name: session.status for session in found.sessions}


@pytest.fixture
async def world(server: Server, clock: FakeClock, dana: Caller, vc: str) -> World:
    await server.background_jobs.close()  # time passes only when the test advances the clock
    made = World(server, clock, dana, vc)
    await made.register("beats")
    await made.register("rarely")
    await made.register("process", pid=os.getpid())
    await made.register("gone")
    return made


BEATS = {"beats": 60, "rarely": 600}


@pytest.mark.parametrize(
    "jumps",
    [[HOUR], [-HOUR], [DAY], [-DAY], [HOUR, -HOUR], [-HOUR, HOUR], [6], [DAY, DAY, DAY], [30 * DAY]],
    ids=lambda jumps: " then ".join(f"{jump:+}s" for jump in jumps),
)
async def test_a_clock_jump_or_a_sleep_makes_no_live_session_lost(world: World, jumps: list[int]) -> None:
    """A sleep also looks like a jump of the wall clock alone, because the monotonic clock stands still."""
    await world.pass_time(100, beats=BEATS)
    for jump in jumps:
        world.clock.jump(jump)
        await world.look()
        assert SessionStatus.LOST not in (await world.statuses()).values(), "no session had time for a heartbeat"
        await world.pass_time(40, beats={"beats": 20})
    await world.pass_time(2 * LONGEST, beats=BEATS)
    statuses = await world.statuses()
    assert {name for name, status in statuses.items() if status is SessionStatus.LOST} <= {"gone"}
    if sum(jumps) >= 0:
        assert statuses["gone"] is SessionStatus.LOST, "a session without heartbeats must become lost"


async def test_repeated_clock_jumps_make_no_session_lost(world: World) -> None:
    for number in range(60):
        world.clock.jump(HOUR if number % 2 else -HOUR)
        await world.pass_time(60, beats={"beats": 60, "rarely": 600} if number % 10 == 0 else {"beats": 60})
        assert SessionStatus.LOST not in (await world.statuses()).values()


async def test_a_slow_clock_drift_makes_only_the_silent_session_lost(world: World) -> None:
    """A drift of one second in a minute is no jump. No live session loses its time for a heartbeat."""
    for number in range(120):
        world.clock.jump(1 if number < 60 else -1)
        await world.pass_time(60, beats={"beats": 60, "rarely": 60} if number % 10 == 0 else {"beats": 60})
    statuses = await world.statuses()
    assert statuses.pop("gone") is SessionStatus.LOST
    assert SessionStatus.LOST not in statuses.values()


@pytest.mark.parametrize("away", [30, 119, 121, 890, HOUR, DAY], ids=lambda seconds: f"{seconds}s")
async def test_a_server_outage_makes_no_live_session_lost(world: World, away: int) -> None:
    """No session can call during the outage. Sessions that call in the grace period after the start stay live."""
    await world.pass_time(200, beats=BEATS)
    for session in await world.server.store.read(lambda tx: tx.sessions.ids_live(world.project, limit=10)):
        world.server.parts.identity.presence.forget_session(session[0])  # a new server has no signs of life in memory
    world.clock.advance(away)
    world.start()
    await world.look()
    world.clock.advance(limits.sleep_grace_seconds - STEP_SECONDS)
    await world.look()
    assert SessionStatus.LOST not in (await world.statuses()).values()
    await world.pass_time(2 * LONGEST, beats=BEATS)
    statuses = await world.statuses()
    assert statuses.pop("gone") is SessionStatus.LOST
    assert SessionStatus.LOST not in statuses.values()


async def test_a_clock_jump_does_not_free_the_name_of_a_live_session(world: World) -> None:
    """The lease seems to be over after the jump, but the session keeps its name."""
    await world.beat("beats")
    world.clock.jump(DAY)
    with pytest.raises(Exception, match="already called"):
        await world.register("beats")
    assert (await world.statuses())["beats"] is SessionStatus.WORKING


# Ten thousand sessions.


def many(project: str, prefix: str, count: int, at: datetime, **fields: Any) -> Iterator[Session]:
    for number in range(count):
        times = dict.fromkeys(("created_at", "updated_at", "seen_at", "status_at", "lease_until"), at)
        yield make_session(project_id=project, name=f"{prefix}-{number}", **(times | fields))


async def insert(world: World, sessions: list[Session]) -> None:
    def write(tx: Any) -> None:
        for session in sessions:
            tx.sessions.insert(session, token_hash=session.id, member_id=None)

    await world.server.store.write(write)


async def counts(world: World) -> Counter[str]:
    """Return the number of lost sessions of each kind."""
    found: Counter[str] = Counter()
    after = ""
    for _ in range(ROUNDS_MAX):
        page = await world.server.store.read(
            lambda tx: tx.sessions.list_page(world.project, after=after, limit=500, status=SessionStatus.LOST)  # noqa: B023
        )
        if not page:
            return found
        after = page[-1].id
        found.update(session.name.partition("-")[0] for session in page)
    raise AssertionError("too many")


PROCESSES = 300


@pytest.fixture
def sleepers() -> Iterator[list[int]]:
    """Start processes that live and do nothing; return their ids."""
    begun = [subprocess.Popen(["sleep", "600"]) for _ in range(PROCESSES)]
    yield [process.pid for process in begun]
    for process in begun:
        process.kill()
        process.wait()


@pytest.fixture
async def ten_thousand(server: Server, clock: FakeClock, dana: Caller, vc: str, sleepers: list[int]) -> World:
    """Store sessions with expired leases: some have called recently, some have a live process, some are gone."""
    await server.background_jobs.close()
    world = World(server, clock, dana, vc)
    at = clock.now() - timedelta(seconds=1)
    heard = list(many(vc, "heard", 9_000 - PROCESSES, at))
    gone = list(many(vc, "gone", 500, at))
    killed = [
        evolve(one, pid=2**22 + place, pid_started="1") for place, one in enumerate(many(vc, "killed", 500, at))
    ]
    running = []
    for pid, session in zip(sleepers, many(vc, "process", PROCESSES, at), strict=True):
        found = processes.find_process(pid)
        assert found is not None
        running.append(evolve(session, pid=pid, pid_started=found.started))
    await insert(world, [*heard, *gone, *killed, *running])
    world.start()
    await world.lost_sessions.run_once()  # the first round after a start only begins the grace period
    clock.advance(limits.sleep_grace_seconds + 1)
    for session in heard:
        server.parts.identity.presence.record_sign(session.id)
    await every_reader_is_connected(server)
    return world


async def every_reader_is_connected(server: Server) -> None:
    """Connect all readers now, because no reader can connect later when no file can be opened."""
    together = threading.Barrier(limits.readers_max)
    await asyncio.gather(*(server.store.read(lambda tx: together.wait(30)) for _ in range(limits.readers_max)))


async def test_each_round_is_bounded_and_only_gone_sessions_become_lost(ten_thousand: World) -> None:
    world, lost, rounds = ten_thousand, 0, 0
    for _ in range(ROUNDS_MAX):
        due = await world.lost_sessions.run_once()
        rounds += 1
        now = (await counts(world)).total()
        assert now - lost <= limits.job_batch_rows_max, "a round handled more than one batch"
        lost = now
        if due is not None and due > world.clock.now():
            break
    assert await counts(world) == {"gone": 500, "killed": 500}
    assert rounds <= 10_000 / limits.job_batch_rows_max + 1, "sessions were checked more than once"


async def test_one_round_stores_the_signs_of_life_of_all_sessions(ten_thousand: World) -> None:
    world = ten_thousand
    await world.signs_of_life.run_once()
    assert world.server.parts.identity.presence.take_unstored(1) == []
    until = to_micros(world.clock.now() + timedelta(seconds=limits.session_lease_without_process_seconds))
    page = await world.server.store.read(lambda tx: tx.sessions.list_lease_expired(world.clock.now(), limit=10_000))
    assert not [session for session in page if session.name.startswith("heard")]
    found = await world.server.store.read(lambda tx: tx.sessions.by_name(world.project, "heard-8699"))
    assert found is not None and to_micros(found.lease_until) == until


@contextlib.contextmanager
def files_left(count: int) -> Iterator[None]:
    """Limit the number of files that this process can still open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    present = max(int(file.name) for file in Path("/dev/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (present + count if count else 0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_live_process_that_cannot_be_watched_is_not_reported_as_ended(ten_thousand: World) -> None:
    """A failure to watch a process is no sign that the process has ended."""
    world = ten_thousand
    for count in (0, 50):
        with files_left(count):
            await world.server.parts.sessions.process_watch.run_once()
            await settled(world.server)

    def ends(tx: Any) -> list[str]:
        """Return the stored signals of sessions whose processes live."""
        found = [tx.sessions.by_name(world.project, f"process-{number}") for number in range(PROCESSES)]
        return [signal.detail for session in found for signal in tx.sessions.signals_of(session.id)]

    assert await world.server.store.read(ends) == []


async def test_a_server_that_can_open_no_file_makes_no_session_with_a_process_lost(ten_thousand: World) -> None:
    """The server cannot find out whether a process lives."""
    for _ in range(50):
        with files_left(0), contextlib.suppress(OSError):
            await ten_thousand.lost_sessions.run_once()
    assert "process" not in await counts(ten_thousand)


async def settled(server: Server) -> None:
    """Wait until the results of the process watch are stored: the write below follows the writes of the watch."""
    for _ in range(100):
        await asyncio.sleep(0)
    await server.store.write(lambda tx: None)
