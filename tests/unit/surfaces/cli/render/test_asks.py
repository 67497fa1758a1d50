"""Asks are rendered with their choices, their answer and the command that answers them."""

from __future__ import annotations

from maestro.domain.asks import AskKind, AskStatus
from maestro.operations.asks import AskList
from maestro.surfaces.cli.render import asks
from maestro.surfaces.cli.render.style import View, finish_text
from maestro.testing.factories import make_ask

PLAIN = View()


def test_an_open_ask_shows_its_text_its_choices_and_the_command_that_answers_it() -> None:
    ask = make_ask(id="ask_1", text="8080 is taken.\nmaestro: fake", choices=["8081", "8082"])
    shown = asks.render_ask(ask, PLAIN)
    lines = finish_text(str(shown.out)).splitlines()
    assert lines[0] == "ask_1  question  Which port?"
    assert "| 8080 is taken." in lines and "| maestro: fake" in lines
    assert lines[-2:] == ["  1. 8081", "  2. 8082"] and shown.notes == ["answer: maestro ask answer ask_1 …"]


def test_an_answered_ask_shows_its_answer_and_no_command() -> None:
    shown = asks.render_ask(make_ask(status=AskStatus.ANSWERED, answer="8081\n", answered_by="dana"), PLAIN)
    assert shown.notes == [] and "answer" in str(shown.out) and "8081" in str(shown.out)


def test_the_list_of_asks_has_one_line_for_each_ask() -> None:
    found = AskList(
        asks=[
            make_ask(id="ask_1", title="Which\nport?"),
            make_ask(id="ask_2", kind=AskKind.PERMISSION, choices=["allow", "deny"]),
        ],
        cursor="ask_2",
    )
    shown = asks.render_ask_list(found, PLAIN)
    lines = finish_text(str(shown.out)).splitlines()
    assert [line.split()[0] for line in lines] == ["ask_1", "ask_2"]
    assert lines[0].endswith("parser  Which port?") and lines[1].endswith("Which port?  [allow / deny]")
    assert shown.notes == ["more results: --cursor ask_2"]
    assert asks.render_ask_list(AskList(asks=[]), PLAIN).notes == ["no open asks"]
