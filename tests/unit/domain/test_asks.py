"""An answer to an ask is resolved to a choice or to free text, and an ask is answered only once."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.domain.asks import AskKind, AskStatus, require_open, resolve_answer
from maestro.testing.factories import make_ask

FRUIT = make_ask(choices=["Apple", "apricot", "Pear", "10"])
PERMISSION = make_ask(kind=AskKind.PERMISSION, choices=["allow", "deny"])


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Apple", "Apple"),
        (" aPPLE\n", "Apple"),
        ("2", "apricot"),
        ("4", "10"),
        ("10", "10"),  # the text of a choice: no tenth choice exists
        ("pe", "Pear"),
        ("ap", "ap"),  # free text: two choices begin with this text
        ("a plum, please", "a plum, please"),
        ("8081", "8081"),  # free text: too large for the number of a choice
    ],
)
def test_an_answer_to_a_question_is_a_choice_or_free_text(said: str, meant: str) -> None:
    assert resolve_answer(FRUIT, said) == meant


@pytest.mark.parametrize("said", ["0", "5", "20"])
def test_a_small_number_without_a_choice_is_refused(said: str) -> None:
    with pytest.raises(errors.Invalid, match=f"There is no choice {said}"):
        resolve_answer(FRUIT, said)


def test_an_answer_to_a_question_of_the_server_must_be_a_choice() -> None:
    own = make_ask(session_id=None, choices=["accept the loss"])
    assert resolve_answer(own, "accept the") == "accept the loss"
    with pytest.raises(errors.Invalid, match="not one of the choices"):
        resolve_answer(own, "accept it")


def test_an_answer_to_a_question_without_choices_is_any_text() -> None:
    assert resolve_answer(make_ask(), " use 8081 ") == "use 8081"
    assert resolve_answer(make_ask(), "1") == "1"


@pytest.mark.parametrize(("said", "meant"), [("allow", "allow"), ("A", "allow"), ("2", "deny"), ("den", "deny")])
def test_an_answer_to_a_permission_ask_is_one_of_its_choices(said: str, meant: str) -> None:
    assert resolve_answer(PERMISSION, said) == meant


@pytest.mark.parametrize("said", ["yes", "3", "0", "allow everything", "-1", "²"])
def test_an_answer_to_a_permission_ask_that_is_no_choice_is_refused(said: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        resolve_answer(PERMISSION, said)
    assert "allow, deny" in refused.value.hint


@pytest.mark.parametrize("ask", [FRUIT, PERMISSION, make_ask()])
def test_an_empty_answer_is_refused(ask: object) -> None:
    with pytest.raises(errors.Invalid):
        resolve_answer(ask, " \n")  # type: ignore[arg-type]


def test_an_answer_equal_to_a_choice_is_not_read_as_a_prefix_of_another_choice() -> None:
    assert resolve_answer(make_ask(kind=AskKind.PERMISSION, choices=["allow", "allow always"]), "allow") == "allow"


@pytest.mark.parametrize("status", [AskStatus.ANSWERED, AskStatus.WITHDRAWN])
def test_an_ask_that_is_answered_or_withdrawn_is_not_open(status: AskStatus) -> None:
    require_open(make_ask())
    with pytest.raises(errors.Conflict) as refused:
        require_open(make_ask(status=status, answer="no"))
    assert refused.value.data == {"status": status, "answer": "no"}
