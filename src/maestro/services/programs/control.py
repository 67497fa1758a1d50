"""Speaking with agents that run: a prompt, an interrupt, a stop; and what they were told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.domain import manifests as shapes
from maestro.domain import prompts
from maestro.domain.callers import Caller
from maestro.domain.manifests import Manifest
from maestro.domain.messages import Step
from maestro.domain.sessions import Session, Source
from maestro.domain.sessions import Status as SessionStatus
from maestro.domain.talks import Talk, Teller, Turn
from maestro.events.hub import Hub, Subscription
from maestro.operations import mail_shapes
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as ops
from maestro.prompts import compose, templates
from maestro.services.hooks.holding import withdraw_left
from maestro.services.mail import receipts
from maestro.services.mail.post import Draft, Target, post, sender_of, small
from maestro.services.programs.runners import Runners
from maestro.services.programs.stopping import Stopping
from maestro.services.sessions import kin, status
from maestro.services.sessions.views import require_live
from maestro.services.talks import taking
from maestro.services.talks.saying import Saying
from maestro.store.base import Store, Tx
from maestro.tools import registry
from maestro.tools.conversation import WAITS_FOR_ANSWER


def prompt(tx: Tx, caller: Caller, request: ops.PromptSession) -> mail_shapes.SentMail:
    """A prompt is mail first, so that it is on record and cannot be lost; then it is pushed."""
    session = kin.named(tx, caller, request.id, project=request.project)
    kin.may_act_on(tx, caller, session, what="prompt")
    require_live(session)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=session.project_id,
        to=[session.name],
        targets=[Target(session.id, session.project_id, name=session.name)],
        type=prompts.TYPE,
        priority=prompts.PRIORITY,
        subject=prompts.subject(request.text),
        body=small(request.text),
    )
    return receipts.just_sent(tx, draft, post(tx, draft))


def manifest(tx: Tx, caller: Caller, request: session_ops.OneSession) -> Manifest:
    session = kin.named(tx, caller, request.id, project=request.project)
    kin.may_hear(tx, caller, session, what="read what it was told")
    data = tx.spawns.manifest(session.id)
    if data is None:
        raise errors.NotFound(f"{session.name} was not started by Maestro: it was told nothing.")
    return shapes.decode(data)


NOT_HEARD_YET = "its program has not been heard of yet"


class Control:
    """What goes through a runner."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        runners: Runners,
        stopping: Stopping,
        waits: receipts.ReceiptWaits,
        saying: Saying,
        *,
        wake: Callable[[str], Awaitable[str]],
    ) -> None:
        self._store = store
        self._hub = hub
        self._runners = runners
        self._stopping = stopping
        self._waits = waits
        self._saying = saying
        self._wake = wake

    async def push(
        self, caller: Caller, request: ops.PromptSession, sent: mail_shapes.SentMail
    ) -> mail_shapes.SentMail:
        """After the commit: into the running agent. What does not get through lies in its inbox."""
        session_id = sent.deliveries[0].box
        talk = await self._saying.talk(session_id)
        if talk is not None:
            await (self._say(session_id, sent) if talk.teller is Teller.RUNNER else self._leave(talk, sent))
            return await self._waits.after(caller, request, await self._waits.look(sent))
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        data = registry.find(spawn.tool).prompt(request.text) if spawn else None
        if data is not None:
            await self._type(session_id, sent, data)
            await self._store.write(lambda tx: _handed_over(tx, session_id, sent.id), quick=True)
            sent = await self._waits.look(sent)
        return await self._waits.after(caller, request, sent)

    async def _say(self, session_id: str, sent: mail_shapes.SentMail) -> None:
        """Over its program's protocol; what has to wait is handed over by its runner, as soon as it can be."""
        try:
            why = await self._saying.prompt(session_id, sent.id)
        except errors.Conflict as problem:
            raise _not_handed_over(problem, sent) from problem
        if why:
            raise _held_back(why, sent)

    async def _leave(self, talk: Talk, sent: mail_shapes.SentMail) -> None:
        """For an agent in a terminal: its hooks hand it out while it works, and what has nothing to do is woken."""
        if talk.turn is Turn.ASKING:
            raise _held_back(WAITS_FOR_ANSWER, sent)
        if talk.turn is Turn.NONE:  # it starts, or asks its person something that only it knows of
            raise _held_back(NOT_HEARD_YET, sent)
        why = await self._wake(talk.session_id)
        if why:
            raise _not_handed_over(errors.Conflict(f"{why}."), sent)

    async def _type(self, session_id: str, sent: mail_shapes.SentMail, data: bytes) -> None:
        """Into its terminal; what that does not take is not delivered, and lies in the inbox."""
        try:
            is_taken = await self._runners.write(session_id, data)
        except errors.Conflict as problem:
            raise _not_handed_over(problem, sent) from problem
        if not is_taken:
            raise errors.NotConfirmed(
                "Its program has not taken it in: it does not read just now.",
                hint="It lies in its inbox, and in its terminal if it reads later.",
                data=msgspec.to_builtins(sent),
            )

    async def interrupt(self, caller: Caller, request: session_ops.OneSession) -> Session:
        session = await self._named(caller, request, what="interrupt")
        await self._runners.ask(session.id, do="interrupt")
        await self._store.write(lambda tx: _interrupted(tx, caller, session), quick=True)
        return session

    async def stop(self, caller: Caller, request: ops.StopSession) -> Session:
        """Asked to end, with everything it started; answered once it has."""
        session = await self._named(caller, request, what="stop")
        spawn = await self._store.read(lambda tx: tx.spawns.get(session.id), quick=True)
        if spawn is None:
            raise errors.Conflict(
                f"{session.name} was only registered: its program is not Maestro's to stop.",
                hint=f"End its program yourself; maestro session end {session.name} ends what is on record.",
            )
        with self._hub.subscribe([session.id]) as heard:
            before = await self._stopping.stopped_by(session.id)
            if before is None:
                await self._ask_to_stop(session, by=caller.title or caller.name)
            return await self._ended(session, heard, request.timeout / 1000, before or "")

    async def _ask_to_stop(self, session: Session, *, by: str) -> None:
        try:
            await self._stopping.stop(session.id, by=by)
        except errors.Conflict:
            if not await self._stopping.is_ending(session.id):  # else its last words are on their way
                raise

    async def _ended(self, session: Session, heard: Subscription, seconds: float, before: str) -> Session:
        """A session once it has ended; as it is, if nobody is to wait."""
        try:
            async with asyncio.timeout(seconds or None):
                while (now := await self._now(session)).ended_at is None and seconds:
                    await heard.wait()
                    heard.take()
        except TimeoutError:
            by = f" by {before}" if before else ""
            raise errors.TimedOut(
                f"{session.name} is being stopped{by}: it has not ended within {seconds:g} s.",
                hint=f"maestro session wait {session.name} --until stopped",
            ) from None
        return now

    async def _now(self, session: Session) -> Session:
        return await self._store.read(lambda tx: tx.sessions.get(session.id), quick=True) or session

    async def after_end(self, caller: Caller, request: session_ops.EndSession, ended: Session) -> Session:
        """Who is ended on record while it is set up never gets a program. One that runs is ended with it; who ends
        itself has a moment to finish its sentence (`upkeep/dismissing`)."""
        by = caller.title or caller.name
        if caller.session_id == ended.id:
            await self._stopping.end_set_up(ended.id, by=by)
        else:
            await self._stopping.stop_all([ended.id], by=by)
        return ended

    async def prompts(self, caller: Caller, request: ops.ShowPrompt) -> ops.Prompts:
        found = await self._store.read(lambda tx: manifest(tx, caller, request), quick=True)
        both = request.system == request.task
        library = await asyncio.to_thread(templates.load, Path(found.project.directory) / templates.FOLDER)
        template = library.get(found.session.template)
        return ops.Prompts(
            session_id=found.session.id,
            system_prompt=compose.system_prompt(found, template) if both or request.system else None,
            task_prompt=compose.task_prompt(found) if both or request.task else None,
        )

    async def _named(self, caller: Caller, request: session_ops.OneSession, *, what: str) -> Session:
        def look(tx: Tx) -> Session:
            session = kin.named(tx, caller, request.id, project=request.project)
            kin.may_act_on(tx, caller, session, what=what)
            require_live(session)
            return session

        return await self._store.read(look, quick=True)


def _interrupted(tx: Tx, caller: Caller, session: Session) -> None:
    """No hook tells that a turn was cut short. If it goes on all the same, the next one does."""
    talk = tx.talks.get(session.id)
    if talk is None or talk.teller is not Teller.HOOKS or talk.turn not in (Turn.WORKING, Turn.ASKING):
        return
    own = tx.sessions.caller(session.id)
    if own is not None:
        withdraw_left(tx, own)
    taking.stopped(tx, session, caller, interrupted=True)
    detail = "it was interrupted"
    status.say(tx, session, SessionStatus.IDLE, source=Source.HOOK, detail=detail, actor=caller.name)


def _held_back(why: str, sent: mail_shapes.SentMail) -> errors.NotConfirmed:
    return errors.NotConfirmed(
        f"It is held back: {why}.",
        hint=f"It is told as soon as that is over: maestro mail status {sent.id}",
        data=msgspec.to_builtins(sent),
    )


def _not_handed_over(problem: errors.Conflict, sent: mail_shapes.SentMail) -> errors.NotConfirmed:
    return errors.NotConfirmed(
        f"It was not handed over: {problem}", hint="It lies in its inbox.", data=msgspec.to_builtins(sent)
    )


def _handed_over(tx: Tx, session_id: str, message_id: str) -> None:
    caller, message = tx.sessions.caller(session_id), tx.mail.get(message_id)
    if caller is not None and message is not None:
        receipts.take(tx, caller, Step.DELIVERED, session_id, message.seq, via="prompt")
