"""Tell which unread mail is on the way to a session's model, to keep a second channel from showing the same mail."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain import manifests
from maestro.domain.callers import Caller
from maestro.domain.messages import ReceivedMessage
from maestro.domain.prompts import is_prompt
from maestro.domain.sessions import Session
from maestro.services.mail import receipts
from maestro.store.base import Tx
from maestro.store.repositories.deliveries import MessageFilter


def without_pushed_mail(
    tx: Tx, session: Session, messages: list[ReceivedMessage], *, with_prompts: bool
) -> list[ReceivedMessage]:
    """Return the messages that are neither in a push nor in the session's first prompt.

    Without `with_prompts`, leave out live prompts too: a session with a protocol gets them as pushes.
    """
    if not messages:
        return messages
    push = tx.conversations.get_push(session.id)
    pushed = receipts.sequence_numbers(push.receipt) if push is not None and not push.given_up else set()
    left = [message for message in without_first_prompt(tx, session, messages) if message.seq not in pushed]
    return left if with_prompts else [message for message in left if not is_prompt(message)]


def without_first_prompt(tx: Tx, session: Session, messages: list[ReceivedMessage]) -> list[ReceivedMessage]:
    """Return the messages that are not in the session's first prompt."""
    in_prompt = messages_of_first_prompt(tx, session) if messages else []
    return [message for message in messages if message.id not in in_prompt]


def unread_mail_of_first_prompt(tx: Tx, caller: Caller, session: Session) -> list[ReceivedMessage]:
    """Return the unread messages of the session's first prompt."""
    in_prompt = messages_of_first_prompt(tx, session)
    unread = tx.deliveries.list_offered(
        session.id, reader=caller.name, wanted=MessageFilter(), limit=limits.page_items_max
    )
    return [message for message in unread if message.id in in_prompt]


def messages_of_first_prompt(tx: Tx, session: Session) -> list[str]:
    """Return the ids of the messages that the session's first prompt held in full."""
    data = tx.spawns.get_manifest(session.id)
    manifest = manifests.decode_manifest(data) if data else None
    if manifest is None:
        return []
    if manifest.resumed is not None:
        return [unread.message_id for unread in manifest.resumed.messages if _is_whole(tx, unread)]
    return [manifest.directive.message_id] if manifest.directive and manifest.directive.message_id else []


def _is_whole(tx: Tx, unread: manifests.UnreadMessage) -> bool:
    message = tx.mail.get(unread.message_id)
    if message is None or message.truncated or message.attachments:
        return False
    return len(message.body) <= limits.prompt_line_chars_max and unread.text.strip() == message.body.strip()
