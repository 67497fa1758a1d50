"""Read in a single transaction all facts about a session that the handler needs for a hook event."""

from __future__ import annotations

from datetime import datetime

import msgspec

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.domain.manifests import Reach
from maestro.domain.messages import Received, SenderKind
from maestro.domain.sessions import Session
from maestro.domain.spawns import Spawn
from maestro.domain.talks import Talk, Teller
from maestro.domain.tasks import Priority
from maestro.operations import primer as primer_ops
from maestro.services.hooks.memory import Remembered
from maestro.services.mail import receipts
from maestro.services.mail.reading import fresh
from maestro.services.sessions import kin, primers
from maestro.services.talks import told
from maestro.store.base import Tx
from maestro.store.repositories.deliveries import Wanted
from maestro.tools import registry
from maestro.tools.hooks.base import Beginning, Happening, Moment

_ANY, _CRITICAL = Wanted(), Wanted(priority=Priority.CRITICAL)
_CRITICAL_OF_PERSON = Wanted(priority=Priority.CRITICAL, sender_kind=SenderKind.PERSON)


class Seen(msgspec.Struct, frozen=True):
    """The facts about a session at the time of a hook event."""

    at: datetime
    session: Session
    spawn: Spawn | None
    mail: list[Received]
    more: bool
    primer: str
    talk: Talk | None
    owed: str = ""  # tells the agent to start the command that waits for mail

    @property
    def is_driven(self) -> bool:
        return is_driven(self.talk)

    @property
    def reach(self) -> Reach:
        return _reach(self.spawn)


def is_driven(talk: Talk | None) -> bool:
    """Return whether a runner speaks the program's protocol. The protocol then reports status and asks."""
    return talk is not None and talk.teller is Teller.RUNNER


def look(tx: Tx, caller: Caller, happening: Happening, memory: Remembered) -> Seen:
    session = kin.own(tx, caller)
    if memory.pending is None:
        memory.pending = tx.hooks.answers_of(session.id)
    conversation = tx.talks.get(session.id)
    mail = _unshown_mail(tx, caller, happening, memory, conversation)
    if conversation is not None and registry.waiter(happening.tool, conversation.driver) is None:
        mail = told.not_yet(tx, session, mail, prompts_too=not is_driven(conversation))
    elif conversation is not None:  # a push to this kind of program only announces mail
        mail = told.not_at_start(tx, session, mail)
    asks, starts = happening.moment is Moment.ASKS or happening.is_gate, happening.moment is Moment.STARTS
    is_needed = asks or starts or happening.moment is Moment.ENDS or (conversation is not None and mail)
    spawn = tx.spawns.get(session.id) if is_needed else None
    primer = ""
    if _wants_primer(happening, memory, is_spawned=spawn is not None, is_driven=is_driven(conversation)):
        primer = primers.read(tx, caller, primer_ops.ReadPrimer(tools=_reach(spawn) is Reach.MCP)).text
    count_max = limits.hook_letters_max
    return Seen(tx.at, session, spawn, mail[:count_max], len(mail) > count_max, primer, conversation)


def _unshown_mail(
    tx: Tx, caller: Caller, event: Happening, state: Remembered, conversation: Talk | None
) -> list[Received]:
    """Return the unshown mail that a reply to the hook event can carry."""
    match event.moment:
        case Moment.PROMPT if is_driven(conversation):
            return []  # the prompt holds its mail; other mail is shown after a tool call or at the end of the turn
        case Moment.PROMPT | Moment.AFTER_TOOL | Moment.STOP:
            wanted = _ANY
        case Moment.BEFORE_TOOL:
            wanted = _CRITICAL
        case _:
            return []
    shown = state.being_shown.union(state.being_read, *map(receipts.places, state.pending or ()))
    limit = limits.hook_letters_max + 1 + len(shown)
    found = fresh(tx, caller, wanted, limit=limit)
    if wanted is _CRITICAL and len(found) == limit:  # the person's mail must not wait behind mail of agents
        of_person = fresh(tx, caller, _CRITICAL_OF_PERSON, limit=limit)
        found = [*of_person, *(message for message in found if message.sender.kind is not SenderKind.PERSON)]
    return [message for message in found if message.seq not in shown]


def _wants_primer(event: Happening, state: Remembered, *, is_spawned: bool, is_driven: bool) -> bool:
    """Return whether the reply needs the primer: at the start of a session that was started by hand, and after the
    context was compacted or cleared. The first prompt of a spawned session holds the same text."""
    if event.is_aside:
        return False
    match event.moment:
        case Moment.STARTS if is_driven:
            return event.beginning in (Beginning.COMPACTED, Beginning.CLEARED)
        case Moment.STARTS:
            return not is_spawned or event.beginning is not Beginning.NEW
        case Moment.COMPACTS:
            state.owes_primer = True  # shown with the next reply that can carry text
            return False
        case Moment.PROMPT | Moment.AFTER_TOOL:
            return state.owes_primer
    return False


def _reach(spawn: Spawn | None) -> Reach:
    """Return how an agent calls Maestro: a connected program by MCP, a spawned program as its tool says."""
    tool = registry.TOOLS.get(spawn.tool) if spawn is not None else None
    return tool.abilities.reach if tool is not None else Reach.MCP
