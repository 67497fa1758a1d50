"""Telling a running agent something over its program's protocol."""

from __future__ import annotations

import msgspec

from maestro.core import errors
from maestro.domain.messages import Step
from maestro.domain.talks import Talk
from maestro.prompts import pushes
from maestro.services.mail import receipts
from maestro.services.programs.runners import Runners
from maestro.store.base import Store, Tx


class Handed(msgspec.Struct, frozen=True):
    """What became of something that was to be said: it was; or nobody takes it, and why; or it is not the time."""

    is_said: bool
    closed: str = ""
    is_unknown: bool = False  # it was not answered


class Saying:
    """By way of its runner, which hands it to the conversation."""

    def __init__(self, store: Store, runners: Runners) -> None:
        self._store = store
        self._runners = runners

    async def talk(self, session_id: str) -> Talk | None:
        """The conversation with an agent, where there is one."""
        return await self._store.read(lambda tx: tx.talks.get(session_id), quick=True)

    async def prompt(self, session_id: str, message_id: str) -> str:
        """A message as a live prompt; why it is held back, if it is. The conversation says when the model has it."""

        def look(tx: Tx) -> str:
            message = tx.mail.get(message_id)
            assert message is not None
            return pushes.prompt(message.body, message.sender)

        text = await self._store.read(look, quick=True)
        why = await self.say(session_id, message_id, text)
        if not why:
            await self._store.write(lambda tx: _handed_over(tx, session_id, message_id), quick=True)
        return why

    async def say(self, session_id: str, prompt_id: str, text: str) -> str:
        """Hand something over; why it has to wait, if it has to."""
        answer = await self._runners.ask(session_id, do="prompt", id=prompt_id, text=text)
        return str(answer.get("why", ""))

    async def say_if_idle(self, session_id: str, prompt_id: str, text: str, *, heard: int) -> Handed:
        """Hand something over, unless anything has happened since the last that was heard."""
        try:
            answer = await self._runners.ask(session_id, do="prompt", id=prompt_id, text=text, only_after=heard)
        except errors.Conflict:
            return Handed(False, is_unknown=True)
        is_closed = answer.get("state") == "closed"
        return Handed(answer.get("state") == "said", str(answer.get("why", "")) if is_closed else "")


def _handed_over(tx: Tx, session_id: str, message_id: str) -> None:
    caller, message = tx.sessions.caller(session_id), tx.mail.get(message_id)
    if caller is not None and message is not None:
        receipts.take(tx, caller, Step.DELIVERED, session_id, message.seq, via="prompt")
