"""Each message of a lost session is open in exactly one mailbox, whenever the session calls the server again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.sessions import SessionStatus
from maestro.operations import mail, sessions
from maestro.operations import mail_shapes as shapes
from maestro.server.app import Server
from maestro.services.recovery.ended_mailboxes import EndedMailboxJob
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.store.repositories.deliveries import MessageFilter
from maestro.testing.clock import FakeClock

MANY = limits.job_batch_rows_max + 20


class Lost:
    """A worker that was declared lost, its coordinator, and more unread mail than one round forwards."""

    def __init__(self, server: Server, dana: Caller, token: str, worker: str, lead: str) -> None:
        self.server = server
        self.dana = dana
        self.token = token
        self.worker = worker
        self.lead = lead

    async def speaks(self) -> Caller:
        return await self.server.identify(token=self.token, peer=None)

    async def open_in(self, mailbox: str) -> set[str]:
        """Return the subjects of open messages in a mailbox, without the notices of the server."""
        found = await self.server.store.read(
            lambda tx: tx.deliveries.list_offered(mailbox, reader=mailbox, wanted=MessageFilter(), limit=10 * MANY)
        )
        return {message.subject for message in found if message.subject.startswith("m")}


@pytest.fixture
async def lost(server: Server, clock: FakeClock, dana: Caller, vc: str) -> Lost:
    await server.background_jobs.close()
    judging = LostSessionJob(server.store, server.parts.identity.presence, clock=clock)
    await judging.run_once()
    made = {}
    for name, mode in (("lead", "coordinate"), ("w", "execute")):
        request = sessions.RegisterSession(
            project=vc, name=name, mode=sessions.SessionMode(mode), parent="lead" if name == "w" else None
        )
        made[name] = await server.call(sessions.REGISTER, request, caller=dana)
    for number in range(MANY):
        request = shapes.SendMail(project=vc, to=["w"], subject=f"m{number}", message="")
        await server.call(mail.SEND, request, caller=dana)
    clock.advance(limits.session_lease_without_process_seconds + 1)
    server.parts.identity.presence.record_sign(made["lead"].id)
    await judging.run_once()
    found = await server.store.read(lambda tx: tx.sessions.get(made["w"].id))
    assert found is not None and found.status is SessionStatus.LOST
    return Lost(server, dana, made["w"].token, made["w"].id, made["lead"].id)


class Between:
    """A store that calls a function before each write."""

    def __init__(self, server: Server, happens: Callable[[], Awaitable[Any]]) -> None:
        self.read = server.store.read
        self._store = server.store
        self._happens = happens

    async def write(self, work: Any, *, quick: bool = False) -> Any:
        await self._happens()
        return await self._store.write(work, quick=quick)


@pytest.mark.parametrize("rounds", [0, 1, 2], ids=["before anything went on", "halfway", "after all went on"])
async def test_a_lost_session_that_returns_between_rounds_keeps_mail_that_was_not_forwarded(
    lost: Lost, rounds: int
) -> None:
    job = EndedMailboxJob(lost.server.store)
    for _ in range(rounds):
        await job.run_once()
    caller = await lost.speaks()
    assert caller.session_id == lost.worker
    for _ in range(5):
        await job.run_once()
    own, leads = await lost.open_in(lost.worker), await lost.open_in(lost.lead)
    assert not own & leads and len(own | leads) == MANY
    assert len(leads) == min(rounds * limits.job_batch_rows_max, MANY)
    await lost.server.call(mail.SEND, shapes.SendMail(to=["w"], subject="mine", message=""), caller=caller)
    assert "mine" in await lost.open_in(lost.worker)


async def test_a_lost_session_that_returns_during_a_round_keeps_all_its_mail(lost: Lost) -> None:
    """The session returns after the job has read the lost sessions, and before the job forwards the mail."""
    job = EndedMailboxJob(Between(lost.server, lost.speaks))  # type: ignore[arg-type]
    for _ in range(3):
        await job.run_once()
    assert len(await lost.open_in(lost.worker)) == MANY
    assert await lost.open_in(lost.lead) == set()
