"""Which answer was meant."""

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
        ("10", "10"),  # there is no tenth: it is the choice that is written so
        ("pe", "Pear"),
        ("ap", "ap"),  # two begin so: taken as free text
        ("a plum, please", "a plum, please"),
        ("0", "0"),
        ("5", "5"),
    ],
)
def test_a_question_takes_a_choice_or_free_text(said: str, meant: str) -> None:
    assert resolve_answer(FRUIT, said) == meant


def test_a_question_of_the_server_takes_only_its_choices() -> None:
    own = make_ask(session_id=None, choices=["accept the loss"])
    assert resolve_answer(own, "accept the") == "accept the loss"
    with pytest.raises(errors.Invalid, match="not one of the choices"):
        resolve_answer(own, "accept it")


def test_a_question_without_choices_takes_anything() -> None:
    assert resolve_answer(make_ask(), " use 8081 ") == "use 8081"
    assert resolve_answer(make_ask(), "1") == "1"


@pytest.mark.parametrize(("said", "meant"), [("allow", "allow"), ("A", "allow"), ("2", "deny"), ("den", "deny")])
def test_a_permission_takes_one_of_its_choices(said: str, meant: str) -> None:
    assert resolve_answer(PERMISSION, said) == meant


@pytest.mark.parametrize("said", ["yes", "3", "0", "allow everything", "-1", "²"])
def test_a_permission_takes_nothing_else(said: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        resolve_answer(PERMISSION, said)
    assert "allow, deny" in refused.value.hint


@pytest.mark.parametrize("ask", [FRUIT, PERMISSION, make_ask()])
def test_silence_is_no_answer(ask: object) -> None:
    with pytest.raises(errors.Invalid):
        resolve_answer(ask, " \n")  # type: ignore[arg-type]


def test_a_prefix_that_is_also_a_choice_is_that_choice() -> None:
    assert resolve_answer(make_ask(kind=AskKind.PERMISSION, choices=["allow", "allow always"]), "allow") == "allow"


@pytest.mark.parametrize("status", [AskStatus.ANSWERED, AskStatus.WITHDRAWN])
def test_what_is_closed_stays_closed(status: AskStatus) -> None:
    require_open(make_ask())
    with pytest.raises(errors.Conflict) as refused:
        require_open(make_ask(status=status, answer="no"))
    assert refused.value.data == {"status": status, "answer": "no"}
