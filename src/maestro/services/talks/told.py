"""Tell which unread mail is on the way to a session's model, to keep a second channel from showing the same mail."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain import manifests
from maestro.domain.callers import Caller
from maestro.domain.messages import Received
from maestro.domain.prompts import is_prompt
from maestro.domain.sessions import Session
from maestro.services.mail import receipts
from maestro.store.base import Tx
from maestro.store.repositories.deliveries import Wanted


def not_yet(tx: Tx, session: Session, found: list[Received], *, prompts_too: bool) -> list[Received]:
    """Return the messages that are neither in a push nor in the session's first prompt.

    Without `with_prompts`, leave out live prompts too: a session with a protocol gets them as pushes.
    """
    if not found:
        return found
    push = tx.talks.wake(session.id)
    pushed = receipts.places(push.receipt) if push is not None and not push.given_up else set()
    left = [message for message in not_at_start(tx, session, found) if message.seq not in pushed]
    return left if prompts_too else [message for message in left if not is_prompt(message)]


def not_at_start(tx: Tx, session: Session, found: list[Received]) -> list[Received]:
    """Return the messages that are not in the session's first prompt."""
    in_prompt = at_start(tx, session) if found else []
    return [message for message in found if message.id not in in_prompt]


def in_first_prompt(tx: Tx, caller: Caller, session: Session) -> list[Received]:
    """Return the unread messages of the session's first prompt."""
    in_prompt = at_start(tx, session)
    unread = tx.deliveries.open_in(session.id, reader=caller.name, wanted=Wanted(), limit=limits.page_items_max)
    return [message for message in unread if message.id in in_prompt]


def at_start(tx: Tx, session: Session) -> list[str]:
    """Return the ids of the messages that the session's first prompt held in full."""
    data = tx.spawns.manifest(session.id)
    manifest = manifests.decode(data) if data else None
    if manifest is None:
        return []
    if manifest.resumed is not None:
        return [letter.message_id for letter in manifest.resumed.messages if _is_whole(tx, letter)]
    return [manifest.directive.message_id] if manifest.directive and manifest.directive.message_id else []


def _is_whole(tx: Tx, letter: manifests.Letter) -> bool:
    message = tx.mail.get(letter.message_id)
    if message is None or message.truncated or message.attachments:
        return False
    return len(message.body) <= limits.prompt_line_chars_max and letter.text.strip() == message.body.strip()
