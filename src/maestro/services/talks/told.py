"""What an agent is being told just now, so that nothing else tells it the same."""

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
    """Of unread mail, what is on its way by no wake, and was not in its first prompt. Live prompts are on their way
    too, where they are said over a protocol."""
    if not found:
        return found
    wake = tx.talks.wake(session.id)
    pushed = receipts.places(wake.receipt) if wake is not None and not wake.given_up else set()
    left = [one for one in not_at_start(tx, session, found) if one.seq not in pushed]
    return left if prompts_too else [one for one in left if not is_prompt(one)]


def not_at_start(tx: Tx, session: Session, found: list[Received]) -> list[Received]:
    """Of unread mail, what was not in its first prompt."""
    began_with = at_start(tx, session) if found else []
    return [one for one in found if one.id not in began_with]


def in_first_prompt(tx: Tx, caller: Caller, session: Session) -> list[Received]:
    """What of that is unread."""
    began_with = at_start(tx, session)
    found = tx.deliveries.open_in(session.id, reader=caller.name, wanted=Wanted(), limit=limits.page_items_max)
    return [one for one in found if one.id in began_with]


def at_start(tx: Tx, session: Session) -> list[str]:
    """The messages that its first prompt held whole."""
    data = tx.spawns.manifest(session.id)
    told = manifests.decode(data) if data else None
    if told is None:
        return []
    if told.resumed is not None:
        return [one.message_id for one in told.resumed.messages if _is_whole(tx, one)]
    return [told.directive.message_id] if told.directive and told.directive.message_id else []


def _is_whole(tx: Tx, letter: manifests.Letter) -> bool:
    message = tx.mail.get(letter.message_id)
    if message is None or message.truncated or message.attachments:
        return False
    return len(message.body) <= limits.prompt_line_chars_max and letter.text.strip() == message.body.strip()
