"""The hook handler keeps the state of the sessions with the most recent events in memory."""

from __future__ import annotations

import pytest

from maestro.core import limits
from maestro.domain.messages import ReceivedMessage
from maestro.services.hooks.hook_state import HookState, HookStates
from maestro.services.mail import receipts
from maestro.testing.factories import make_message


def test_the_state_of_a_session_stays_until_the_session_is_forgotten() -> None:
    states = HookStates()
    state = states.state_of("ses_1")
    assert states.state_of("ses_1") is state and states.state_of("ses_2") is not state
    states.forget_session("ses_1")
    states.forget_session("ses_unknown")
    assert states.state_of("ses_1") is not state


def test_only_the_sessions_with_the_most_recent_events_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "hook_sessions_remembered_max", 2)
    states = HookStates()
    first, second = states.state_of("ses_1"), states.state_of("ses_2")
    states.state_of("ses_1")
    states.state_of("ses_3")
    assert states.state_of("ses_1") is first
    assert states.state_of("ses_2") is not second


def test_the_mail_of_an_undelivered_reply_is_no_longer_on_its_way() -> None:
    shown, other = (make_message(ReceivedMessage, seq=seq) for seq in (7, 8))
    state = HookState(unconfirmed_receipts=["r"], mail_on_its_way={shown.seq, other.seq})
    state.take_back_reply(receipts.receipt_for([shown]))
    assert state.mail_on_its_way == {other.seq}
    assert state.unconfirmed_receipts is None, "the receipts are read again from the store"


def test_an_undelivered_reply_without_mail_changes_no_mail() -> None:
    state = HookState(unconfirmed_receipts=[], mail_on_its_way={7})
    state.take_back_reply("")
    assert (state.mail_on_its_way, state.unconfirmed_receipts) == ({7}, None)
