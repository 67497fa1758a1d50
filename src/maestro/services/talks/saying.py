"""Push texts to a running program over its protocol. The runner hands each text to the conversation."""

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
    """The result of a push: handed over; refused by a closed conversation, with the reason; or too early."""

    is_said: bool
    closed: str = ""
    is_unknown: bool = False  # the runner did not answer


class Saying:
    """Sends pushes to the runners of sessions."""

    def __init__(self, store: Store, runners: Runners) -> None:
        self._store = store
        self._runners = runners

    async def talk(self, session_id: str) -> Talk | None:
        """Return the session's conversation, or None."""
        return await self._store.read(lambda tx: tx.talks.get(session_id), quick=True)

    async def prompt(self, session_id: str, message_id: str) -> str:
        """Push a message as a live prompt. Return the reason if the runner holds the push back, else "".

        The conversation reports later when the model has the text.
        """

        def read_text(tx: Tx) -> str:
            message = tx.mail.get(message_id)
            assert message is not None
            return pushes.prompt(message.body, message.sender)

        text = await self._store.read(read_text, quick=True)
        reason = await self.say(session_id, message_id, text)
        if not reason:
            await self._store.write(lambda tx: _mark_delivered(tx, session_id, message_id), quick=True)
        return reason

    async def say(self, session_id: str, prompt_id: str, text: str) -> str:
        """Push a text. Return the reason if the text has to wait, else ""."""
        answer = await self._runners.ask(session_id, do="prompt", id=prompt_id, text=text)
        return str(answer.get("why", ""))

    async def say_if_idle(self, session_id: str, prompt_id: str, text: str, *, heard: int) -> Handed:
        """Push a text, unless the conversation has had an event after `last_event`, the last known to the caller."""
        try:
            answer = await self._runners.ask(session_id, do="prompt", id=prompt_id, text=text, only_after=heard)
        except errors.Conflict:
            return Handed(False, is_unknown=True)
        is_closed = answer.get("state") == "closed"
        return Handed(answer.get("state") == "said", str(answer.get("why", "")) if is_closed else "")


def _mark_delivered(tx: Tx, session_id: str, message_id: str) -> None:
    caller, message = tx.sessions.caller(session_id), tx.mail.get(message_id)
    if caller is not None and message is not None:
        receipts.take(tx, caller, Step.DELIVERED, session_id, message.seq, via="prompt")
