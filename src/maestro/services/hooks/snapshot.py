"""Read in a single transaction all facts about a session that the handler needs for a hook event."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.conversations import SessionConversation, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.messages import ReceivedMessage, SenderKind
from maestro.domain.priorities import Priority
from maestro.domain.sessions import Session
from maestro.domain.spawns import Spawn
from maestro.operations import primer as primer_ops
from maestro.services.access import session_relations
from maestro.services.conversations import pending_pushes
from maestro.services.hooks import window_asks
from maestro.services.hooks.hook_state import HookState
from maestro.services.mail import receipts
from maestro.services.mail.reading import find_unshown
from maestro.services.sessions import primers
from maestro.store.base import Tx
from maestro.store.repositories.deliveries import MessageFilter
from maestro.tools import registry
from maestro.tools.hook_dialect import HookEvent, HookMoment, StartReason

_ANY, _CRITICAL = MessageFilter(), MessageFilter(priority=Priority.CRITICAL)
_CRITICAL_OF_PERSON = MessageFilter(priority=Priority.CRITICAL, sender_kind=SenderKind.PERSON)


class HookSnapshot(msgspec.Struct, frozen=True):
    """The facts about a session at the time of a hook event."""

    at: datetime
    session: Session
    spawn: Spawn | None
    mail: list[ReceivedMessage]
    has_more_mail: bool
    primer: str
    conversation: SessionConversation | None
    unconfirmed_receipts: tuple[str, ...]  # receipts of replies with mail that the model may not have read
    has_own_window: bool = False  # a person started the session by hand
    has_window_asks: bool = False  # an ask waits in the session's own window
    wait_instruction: str = ""  # tells the agent to start the command that waits for mail

    @property
    def is_driven(self) -> bool:
        return is_driven(self.conversation)

    @property
    def reach(self) -> AgentReach:
        return _reach(self.spawn)


def is_driven(conversation: SessionConversation | None) -> bool:
    """Return whether a runner speaks the program's protocol. The protocol then reports status and asks."""
    return conversation is not None and conversation.state_reporter is StateReporter.RUNNER


def read_snapshot(tx: Tx, caller: Caller, event: HookEvent, state: HookState) -> HookSnapshot:
    """Read the facts for a hook event. Change nothing, neither in the store nor in the session's state."""
    session = session_relations.own_session(tx, caller)
    receipts_in_state = state.unconfirmed_receipts
    unconfirmed = tx.hooks.answers_of(session.id) if receipts_in_state is None else receipts_in_state
    conversation = tx.conversations.get(session.id)
    shown = state.mail_on_its_way.union(state.mail_being_marked_read, *map(receipts.sequence_numbers, unconfirmed))
    mail = _unshown_mail(tx, caller, event, shown, conversation)
    if conversation is not None and registry.find_model_wait(event.tool, conversation.driver) is None:
        mail = pending_pushes.without_pushed_mail(tx, session, mail, with_prompts=not is_driven(conversation))
    elif conversation is not None:  # a push to this kind of program only announces mail
        mail = pending_pushes.without_first_prompt(tx, session, mail)
    asks, starts = window_asks.shows_dialog(event) or event.is_gate, event.moment is HookMoment.STARTS
    is_needed = asks or starts or event.moment is HookMoment.ENDS or (conversation is not None and mail)
    spawn = tx.spawns.get(session.id) if is_needed else None
    primer = ""
    if _wants_primer(event, state, is_spawned=spawn is not None, is_driven=is_driven(conversation)):
        primer = primers.read_primer(tx, caller, primer_ops.ReadPrimer(tools=_reach(spawn) is AgentReach.MCP)).text
    count_max = limits.hook_messages_max
    has_more_mail = len(mail) > count_max
    has_window_asks = (
        conversation is None
        and state.may_have_window_asks
        and window_asks.may_end_dialog(event)
        and bool(tx.asks.in_window_of(session.id, limit=1))
    )
    return HookSnapshot(
        tx.at,
        session,
        spawn,
        mail[:count_max],
        has_more_mail,
        primer,
        conversation,
        tuple(unconfirmed),
        has_own_window=bool(is_needed) and spawn is None,
        has_window_asks=has_window_asks,
    )


def _unshown_mail(
    tx: Tx, caller: Caller, event: HookEvent, shown: set[int], conversation: SessionConversation | None
) -> list[ReceivedMessage]:
    """Return the mail that a reply to the hook event can carry, without the shown messages."""
    match event.moment:
        case HookMoment.PROMPT if is_driven(conversation):
            return []  # the prompt holds its mail; other mail is shown after a tool call or at the end of the turn
        case HookMoment.PROMPT | HookMoment.AFTER_TOOL | HookMoment.STOP:
            wanted = _ANY
        case HookMoment.BEFORE_TOOL:
            wanted = _CRITICAL
        case _:
            return []
    limit = limits.hook_messages_max + 1 + len(shown)
    found = find_unshown(tx, caller, wanted, limit=limit)
    if wanted is _CRITICAL and len(found) == limit:  # the person's mail must not wait behind mail of agents
        of_person = find_unshown(tx, caller, _CRITICAL_OF_PERSON, limit=limit)
        found = [*of_person, *(message for message in found if message.sender.kind is not SenderKind.PERSON)]
    return [message for message in found if message.seq not in shown]


def _wants_primer(event: HookEvent, state: HookState, *, is_spawned: bool, is_driven: bool) -> bool:
    """Return whether the reply needs the primer: at the start of a session that was started by hand, and after the
    context was compacted or cleared. The first prompt of a spawned session holds equivalent instructions."""
    if event.is_from_subagent:
        return False
    match event.moment:
        case HookMoment.STARTS if is_driven:
            return event.start_reason in (StartReason.COMPACTED, StartReason.CLEARED)
        case HookMoment.STARTS:
            return not is_spawned or event.start_reason is not StartReason.NEW
        case HookMoment.PROMPT | HookMoment.AFTER_TOOL:
            return state.is_primer_due
    return False


def _reach(spawn: Spawn | None) -> AgentReach:
    """Return how an agent calls Maestro: a connected program by MCP, a spawned program as its tool says."""
    tool = registry.TOOLS.get(spawn.tool) if spawn is not None else None
    return tool.abilities.reach if tool is not None else AgentReach.MCP
