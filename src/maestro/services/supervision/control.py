"""Control running programs: push a prompt, interrupt, stop; and show the prompts that a session started with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from maestro.core import errors
from maestro.domain import manifests as shapes
from maestro.domain import prompts
from maestro.domain.callers import Caller
from maestro.domain.conversations import SessionConversation, StateReporter, TurnState
from maestro.domain.manifests import Manifest
from maestro.domain.sessions import Session, SessionStatus, StatusSource
from maestro.events.hub import Hub, Subscription
from maestro.operations import mail_shapes
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as ops
from maestro.prompts import compose, templates
from maestro.services.access import session_relations
from maestro.services.asks.withdrawal import withdraw_permission_asks
from maestro.services.conversations import runner_events
from maestro.services.conversations.push import Pusher, mark_prompt_delivered
from maestro.services.mail import receipts
from maestro.services.mail.create import Draft, MailTarget, inline_body, post_message, sender_of
from maestro.services.runners.runners import Runners
from maestro.services.sessions import status
from maestro.services.sessions.views import require_live_session
from maestro.services.supervision.stop import ProgramStopper
from maestro.store.base import Store, Tx
from maestro.tools import registry
from maestro.tools.conversation import WAITS_FOR_ANSWER
from maestro.wire import runner_requests


def send_prompt(tx: Tx, caller: Caller, request: ops.PromptSession) -> mail_shapes.SentMail:
    """Store a prompt as mail: the prompt is on record and cannot be lost. `push_prompt` pushes the prompt later."""
    session = session_relations.find_session(tx, caller, request.id, project=request.project)
    session_relations.require_authority(tx, caller, session, action="prompt")
    require_live_session(session)
    draft = Draft(
        sender=sender_of(tx, caller),
        project_id=session.project_id,
        to=[session.name],
        targets=[MailTarget(session.id, session.project_id, name=session.name)],
        type=prompts.PROMPT_TYPE,
        priority=prompts.PROMPT_PRIORITY,
        subject=prompts.prompt_subject(request.text),
        body=inline_body(request.text),
    )
    return receipts.new_message_answer(tx, draft, post_message(tx, draft))


def read_manifest(tx: Tx, caller: Caller, request: session_ops.OneSession) -> Manifest:
    session = session_relations.find_session(tx, caller, request.id, project=request.project)
    session_relations.require_same_project(tx, caller, session, action="read its prompts")
    data = tx.spawns.get_manifest(session.id)
    if data is None:
        raise errors.NotFound(f"{session.name} was not started by Maestro and has no manifest.")
    return shapes.decode_manifest(data)


NO_EVENT_YET = "its program has sent no event yet"


class ProgramControl:
    """Controls the programs of sessions through their runners."""

    def __init__(
        self,
        store: Store,
        hub: Hub,
        runners: Runners,
        stopper: ProgramStopper,
        receipt_waits: receipts.ReceiptWaits,
        pusher: Pusher,
        *,
        push_mail: Callable[[str], Awaitable[str]],
    ) -> None:
        self._store = store
        self._hub = hub
        self._runners = runners
        self._stopper = stopper
        self._receipt_waits = receipt_waits
        self._pusher = pusher
        self._push_mail = push_mail

    async def push_prompt(
        self, caller: Caller, request: ops.PromptSession, sent: mail_shapes.SentMail
    ) -> mail_shapes.SentMail:
        """Push a stored prompt into the running program, after the commit. A prompt that fails stays in the inbox."""
        session_id = sent.deliveries[0].mailbox
        conversation = await self._pusher.find_conversation(session_id)
        if conversation is not None:
            await (
                self._push_over_protocol(session_id, sent)
                if conversation.state_reporter is StateReporter.RUNNER
                else self._push_to_terminal_agent(conversation, sent)
            )
            return await self._receipt_waits.wait_for_receipts(
                caller, request, await self._receipt_waits.read_deliveries(sent)
            )
        spawn = await self._store.read(lambda tx: tx.spawns.get(session_id), quick=True)
        data = registry.find_tool(spawn.tool).typed_prompt(request.text) if spawn else None
        if data is not None:
            await self._write_to_terminal(session_id, sent, data)
            await self._store.write(lambda tx: mark_prompt_delivered(tx, session_id, sent.id), quick=True)
            sent = await self._receipt_waits.read_deliveries(sent)
        return await self._receipt_waits.wait_for_receipts(caller, request, sent)

    async def _push_over_protocol(self, session_id: str, sent: mail_shapes.SentMail) -> None:
        """Push over the program's protocol. The runner holds a prompt back until the program can take it."""
        try:
            reason = await self._pusher.push_message(session_id, sent.id)
        except errors.Conflict as problem:
            raise _not_pushed(problem, sent) from problem
        if reason:
            raise _held_back(reason, sent)

    async def _push_to_terminal_agent(self, conversation: SessionConversation, sent: mail_shapes.SentMail) -> None:
        """Leave the prompt to the hooks of a working agent in a terminal; push mail to an idle one."""
        if conversation.turn is TurnState.ASKING:
            raise _held_back(WAITS_FOR_ANSWER, sent)
        if conversation.turn is TurnState.NONE:  # the program starts, or shows the person a dialog of its own
            raise _held_back(NO_EVENT_YET, sent)
        reason = await self._push_mail(conversation.session_id)
        if reason:
            raise _not_pushed(errors.Conflict(f"{reason}."), sent)

    async def _write_to_terminal(self, session_id: str, sent: mail_shapes.SentMail, data: bytes) -> None:
        """Write the prompt to the program's terminal. Input that the terminal does not take is not delivered."""
        try:
            is_taken = await self._runners.write_input(session_id, data)
        except errors.Conflict as problem:
            raise _not_pushed(problem, sent) from problem
        if not is_taken:
            raise errors.NotConfirmed(
                "The session's program has not read the prompt: it does not read its terminal now.",
                hint="The prompt is in the session's inbox, and in its terminal if the program reads later.",
                data=msgspec.to_builtins(sent),
            )

    async def interrupt_session(self, caller: Caller, request: session_ops.OneSession) -> Session:
        session = await self._find_live_session(caller, request, action="interrupt")
        await self._runners.send_request(session.id, do=runner_requests.INTERRUPT)
        await self._store.write(lambda tx: _record_interrupt(tx, caller, session), quick=True)
        return session

    async def stop_session(self, caller: Caller, request: ops.StopSession) -> Session:
        """Stop a session's program with every process that it started. Return once the session has ended."""
        session = await self._find_live_session(caller, request, action="stop")
        spawn = await self._store.read(lambda tx: tx.spawns.get(session.id), quick=True)
        if spawn is None:
            raise errors.Conflict(
                f"{session.name} was only registered: Maestro did not start its program and cannot stop it.",
                hint=f"End the program yourself; maestro session end {session.name} ends the session.",
            )
        with self._hub.subscribe([session.id]) as subscription:
            before = await self._stopper.stopped_by(session.id)
            if before is None:
                await self._ask_to_stop(session, by=caller.title or caller.name)
            return await self._wait_for_end(session, subscription, request.timeout / 1000, before or "")

    async def _ask_to_stop(self, session: Session, *, by: str) -> None:
        try:
            await self._stopper.stop_program(session.id, by=by)
        except errors.Conflict:
            if not await self._stopper.is_ending(session.id):  # else the runner's last report is still to come
                raise

    async def _wait_for_end(
        self, session: Session, subscription: Subscription, seconds: float, before: str
    ) -> Session:
        """Wait for the session's end and return the session; without `seconds`, return the present session."""
        try:
            async with asyncio.timeout(seconds or None):
                while (current := await self._read_session(session)).ended_at is None and seconds:
                    await subscription.wait_for_event()
                    subscription.take_events()
        except TimeoutError:
            stopped_by = f" by {before}" if before else ""
            raise errors.TimedOut(
                f"{session.name} is being stopped{stopped_by}: it has not ended within {seconds:g} s.",
                hint=f"maestro session wait {session.name} --until stopped",
            ) from None
        return current

    async def _read_session(self, session: Session) -> Session:
        return await self._store.read(lambda tx: tx.sessions.get(session.id), quick=True) or session

    async def stop_ended_session(self, caller: Caller, request: session_ops.EndSession, ended: Session) -> Session:
        """Stop the set-up or the program of a session that has just been ended.

        A session that ends itself keeps its program for a moment to finish its turn (`dismissal`).
        """
        by = caller.title or caller.name
        if caller.session_id == ended.id:
            await self._stopper.stop_setup(ended.id, by=by)
        else:
            await self._stopper.stop_programs([ended.id], by=by)
        return ended

    async def show_prompts(self, caller: Caller, request: ops.ShowPrompt) -> ops.SessionPrompts:
        stored = await self._store.read(lambda tx: read_manifest(tx, caller, request), quick=True)
        shows_both = request.system == request.task
        library = await asyncio.to_thread(templates.load_templates, Path(stored.project.directory) / templates.FOLDER)
        template = library.get_template(stored.session.template)
        return ops.SessionPrompts(
            session_id=stored.session.id,
            system_prompt=compose.system_prompt(stored, template) if shows_both or request.system else None,
            task_prompt=compose.task_prompt(stored) if shows_both or request.task else None,
        )

    async def _find_live_session(self, caller: Caller, request: session_ops.OneSession, *, action: str) -> Session:
        def read_session(tx: Tx) -> Session:
            session = session_relations.find_session(tx, caller, request.id, project=request.project)
            session_relations.require_authority(tx, caller, session, action=action)
            require_live_session(session)
            return session

        return await self._store.read(read_session, quick=True)


def _record_interrupt(tx: Tx, caller: Caller, session: Session) -> None:
    """End the turn of an interrupted agent in a terminal: no hook reports an interrupt.

    If the agent works on all the same, its next hook event sets the turn again.
    """
    conversation = tx.conversations.get(session.id)
    if (
        conversation is None
        or conversation.state_reporter is not StateReporter.HOOKS
        or conversation.turn not in (TurnState.WORKING, TurnState.ASKING)
    ):
        return
    own = tx.sessions.live_caller(session.id)
    if own is not None:
        withdraw_permission_asks(tx, own)
    runner_events.end_turn(tx, session, caller, interrupted=True)
    detail = "turn was interrupted"
    status.apply_signal(tx, session, SessionStatus.IDLE, source=StatusSource.HOOK, detail=detail, actor=caller.name)


def _held_back(reason: str, sent: mail_shapes.SentMail) -> errors.NotConfirmed:
    return errors.NotConfirmed(
        f"The prompt is held back: {reason}.",
        hint=f"It is pushed as soon as possible; its state: maestro mail status {sent.id}",
        data=msgspec.to_builtins(sent),
    )


def _not_pushed(problem: errors.Conflict, sent: mail_shapes.SentMail) -> errors.NotConfirmed:
    return errors.NotConfirmed(
        f"The prompt was not handed over: {problem}",
        hint="The prompt is in the session's inbox.",
        data=msgspec.to_builtins(sent),
    )
