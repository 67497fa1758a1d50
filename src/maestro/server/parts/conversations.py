"""Conversations with running programs: push mail and answers to them."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.server.base import ServerBase
from maestro.server.part import Part, PartJob
from maestro.server.parts.hooks import HookPart
from maestro.server.parts.runners import RunnerPart
from maestro.services.conversations.answer_job import AnswerDeliveryJob
from maestro.services.conversations.push import Pusher
from maestro.services.conversations.push_job import PushJob


class ConversationPart(Part, frozen=True, kw_only=True):
    """The services for conversations."""

    pusher: Pusher
    push_job: PushJob


def build_conversations(base: ServerBase, runners: RunnerPart, hooks: HookPart) -> ConversationPart:
    pusher = Pusher(base.store, runners.runners)
    push_job = PushJob(
        base.store,
        runners.runners,
        pusher,
        clock=base.clock,
        on_push_received=hooks.handler.handle_confirmed_push,
        wait_until_caught_up=hooks.late_hooks.first_round_done.wait,
    )
    return ConversationPart(
        pusher=pusher,
        push_job=push_job,
        jobs=(
            PartJob(
                push_job,
                runs_after=(
                    EventKind.MAIL_SENT,
                    EventKind.SESSION_STATUS_CHANGED,
                    EventKind.SESSION_TURN_ENDED,
                ),
                is_paced=True,
            ),
            PartJob(
                AnswerDeliveryJob(base.store, runners.runners, clock=base.clock),
                runs_after=(EventKind.ASK_ANSWERED, EventKind.ASK_WITHDRAWN),
            ),
        ),
    )
