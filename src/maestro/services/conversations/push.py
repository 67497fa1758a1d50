"""Push texts to a running program over its protocol. The runner hands each text to the conversation."""

from __future__ import annotations

import msgspec

from maestro.core import errors
from maestro.domain.conversations import SessionConversation
from maestro.domain.messages import ReceiptStep
from maestro.prompts import pushes
from maestro.services.mail import receipts
from maestro.services.runners.runners import Runners
from maestro.store.base import Store, Tx
from maestro.wire import runner_requests


class PushResult(msgspec.Struct, frozen=True):
    """The result of a push: handed over; refused by a closed conversation, with the reason; or too early."""

    is_pushed: bool
    refusal: str = ""
    is_unanswered: bool = False  # the runner did not answer


class Pusher:
    """Sends pushes to the runners of sessions."""

    def __init__(self, store: Store, runners: Runners) -> None:
        self._store = store
        self._runners = runners

    async def find_conversation(self, session_id: str) -> SessionConversation | None:
        """Return the session's conversation, or None."""
        return await self._store.read(lambda tx: tx.conversations.get(session_id), quick=True)

    async def push_message(self, session_id: str, message_id: str) -> str:
        """Push a message as a live prompt. Return the reason if the runner holds the push back, else "".

        The conversation reports later when the model has the text.
        """

        def read_text(tx: Tx) -> str:
            message = tx.mail.get(message_id)
            assert message is not None
            return pushes.prompt_push(message.body, message.sender)

        text = await self._store.read(read_text, quick=True)
        reason = await self.push_text(session_id, message_id, text)
        if not reason:
            await self._store.write(lambda tx: mark_prompt_delivered(tx, session_id, message_id), quick=True)
        return reason

    async def push_text(self, session_id: str, push_id: str, text: str) -> str:
        """Push a text. Return the reason if the text has to wait, else ""."""
        answer = await self._runners.send_request(session_id, do=runner_requests.PROMPT, id=push_id, text=text)
        return str(answer.get(runner_requests.REASON, ""))

    async def push_text_if_idle(self, session_id: str, push_id: str, text: str, *, last_event: int) -> PushResult:
        """Push a text, unless the conversation has had an event after `last_event`, the last known to the caller."""
        try:
            answer = await self._runners.send_request(
                session_id, do=runner_requests.PROMPT, id=push_id, text=text, only_after=last_event
            )
        except errors.Conflict:
            return PushResult(False, is_unanswered=True)
        state, reason = answer.get(runner_requests.PUSH_STATE), str(answer.get(runner_requests.REASON, ""))
        return PushResult(state == runner_requests.PUSHED, reason if state == runner_requests.CLOSED else "")


def mark_prompt_delivered(tx: Tx, session_id: str, message_id: str) -> None:
    """Mark a live prompt as delivered: the session's program has the text."""
    caller, message = tx.sessions.live_caller(session_id), tx.mail.get(message_id)
    if caller is not None and message is not None:
        receipts.record_step(tx, caller, ReceiptStep.DELIVERED, session_id, message.seq, via="prompt")
