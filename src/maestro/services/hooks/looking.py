"""What the store knows of a session in the moment in which one of its hooks fires: all of it in one read."""

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
    """What one look found."""

    at: datetime
    session: Session
    spawn: Spawn | None
    mail: list[Received]
    more: bool
    primer: str
    talk: Talk | None
    owed: str = ""  # what it is told so that it can be woken

    @property
    def is_driven(self) -> bool:
        return is_driven(self.talk)

    @property
    def reach(self) -> Reach:
        return _reach(self.spawn)


def is_driven(talk: Talk | None) -> bool:
    """Whether a session is spoken with over its protocol, which tells its status and asks for it."""
    return talk is not None and talk.teller is Teller.RUNNER


def look(tx: Tx, caller: Caller, happening: Happening, memory: Remembered) -> Seen:
    session = kin.own(tx, caller)
    if memory.pending is None:
        memory.pending = tx.hooks.answers_of(session.id)
    talk = tx.talks.get(session.id)
    mail = _mail(tx, caller, happening, memory, talk)
    if talk is not None and registry.waiter(happening.tool, talk.driver) is None:
        mail = told.not_yet(tx, session, mail, prompts_too=not is_driven(talk))
    elif talk is not None:  # what wakes it says only that there is mail
        mail = told.not_at_start(tx, session, mail)
    asks, starts = happening.moment is Moment.ASKS or happening.is_gate, happening.moment is Moment.STARTS
    is_needed = asks or starts or happening.moment is Moment.ENDS or (talk is not None and mail)
    spawn = tx.spawns.get(session.id) if is_needed else None
    primer = ""
    if _wants_primer(happening, memory, is_spawned=spawn is not None, is_driven=is_driven(talk)):
        primer = primers.read(tx, caller, primer_ops.ReadPrimer(tools=_reach(spawn) is Reach.MCP)).text
    many = limits.hook_letters_max
    return Seen(tx.at, session, spawn, mail[:many], len(mail) > many, primer, talk)


def _mail(tx: Tx, caller: Caller, happening: Happening, memory: Remembered, talk: Talk | None) -> list[Received]:
    """What was not shown yet, as far as this moment has room for it."""
    match happening.moment:
        case Moment.PROMPT if is_driven(talk):
            return []  # it was told what was meant for it; the rest comes after a tool, or at its end
        case Moment.PROMPT | Moment.AFTER_TOOL | Moment.STOP:
            wanted = _ANY
        case Moment.BEFORE_TOOL:
            wanted = _CRITICAL
        case _:
            return []
    shown = memory.being_shown.union(memory.being_read, *map(receipts.places, memory.pending or ()))
    many = limits.hook_letters_max + 1 + len(shown)
    found = fresh(tx, caller, wanted, limit=many)
    if wanted is _CRITICAL and len(found) == many:  # the person's mail must not stand behind that of agents
        of_person = fresh(tx, caller, _CRITICAL_OF_PERSON, limit=many)
        found = [*of_person, *(message for message in found if message.sender.kind is not SenderKind.PERSON)]
    return [message for message in found if message.seq not in shown]


def _wants_primer(happening: Happening, memory: Remembered, *, is_spawned: bool, is_driven: bool) -> bool:
    """At the start of who was started by hand (the others' prompts say it all), and whenever it was forgotten."""
    if happening.is_aside:
        return False
    match happening.moment:
        case Moment.STARTS if is_driven:
            return happening.beginning in (Beginning.COMPACTED, Beginning.CLEARED)
        case Moment.STARTS:
            return not is_spawned or happening.beginning is not Beginning.NEW
        case Moment.COMPACTS:
            memory.owes_primer = True  # at the next moment at which anything can be said
            return False
        case Moment.PROMPT | Moment.AFTER_TOOL:
            return memory.owes_primer
    return False


def _reach(spawn: Spawn | None) -> Reach:
    """Whoever was connected has the tools; of who was spawned, its tool says."""
    tool = registry.TOOLS.get(spawn.tool) if spawn is not None else None
    return tool.abilities.reach if tool is not None else Reach.MCP
