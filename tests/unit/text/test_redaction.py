"""Tokens are hidden in every text, also when the text is cut, coloured or wrapped."""

import secrets
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.text import redaction
from maestro.text.redaction import (
    HIDDEN_TOKEN,
    TokenFilter,
    hide_in_end,
    hide_in_terminal,
    hide_tokens,
    hide_tokens_in_bytes,
)

SESSION = "mst_" + "aB3-_" * 8 + "xyz"
PERSON = "mst_person_" + secrets.token_urlsafe(32)


def test_tokens_of_sessions_and_of_the_person_are_hidden() -> None:
    assert len(SESSION) == 47
    assert (
        hide_tokens(f"MAESTRO_TOKEN={SESSION}\nrest {PERSON}.")
        == f"MAESTRO_TOKEN={HIDDEN_TOKEN}\nrest {HIDDEN_TOKEN}."
    )
    assert hide_tokens_in_bytes(b"\xff" + SESSION.encode()) == b"\xff" + HIDDEN_TOKEN.encode()


def test_a_text_that_is_not_a_token_stays_unchanged() -> None:
    for text in ("mst_", "mst_short_name", "mst_" + "x" * 42, "MST_" + "x" * 43, HIDDEN_TOKEN, ""):
        assert hide_tokens(text) is text
        assert hide_in_terminal(text) == text


def test_hiding_tokens_a_second_time_changes_nothing() -> None:
    assert hide_tokens(hide_tokens(SESSION)) == HIDDEN_TOKEN


def test_a_coloured_or_wrapped_token_is_hidden() -> None:
    coloured = f"\x1b[01;31m\x1b[Kmst_\x1b[m\x1b[K{SESSION[4:]} rest"
    wrapped = f"{SESSION[:30]}\r\n   {SESSION[30:]}\r\nMAESTRO_MODE=execute"
    assert hide_in_terminal(coloured) == f"\x1b[01;31m\x1b[K{HIDDEN_TOKEN} rest"
    assert hide_in_terminal(wrapped) == f"{HIDDEN_TOKEN}\r\nMAESTRO_MODE=execute"


def test_the_end_of_an_output_loses_the_rest_of_a_cut_token() -> None:
    assert hide_in_end(f"{SESSION[5:]} rest {SESSION}") == f" rest {HIDDEN_TOKEN}"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("words", [range(1000, 2000), range(10**30, 10**30 + 100)], ids=["short", "long"])
def test_the_end_of_an_output_keeps_lines_of_single_words(words: range, newline: str) -> None:
    lines = [str(word) for word in words]
    shown = hide_in_end(newline.join(lines) + newline)
    assert shown.endswith(newline.join(["", *lines[2:], ""]))


def test_the_end_of_an_output_loses_at_most_a_tokens_length_of_a_long_word() -> None:
    assert hide_in_end("x" * 2000) == "x" * (2000 - len("st_person_") - 43)


@pytest.mark.parametrize("token", [SESSION, PERSON], ids=["session", "person"])
@pytest.mark.parametrize("between", ["", "\n", "\r\n", "\r\n  ", "\x1b[01;31m\x1b[K"], ids=ascii)
@pytest.mark.parametrize("width", [20, 33, 50, 80])
@pytest.mark.parametrize("column", [0, 7, 19])
def test_the_end_of_an_output_shows_no_rest_of_a_cut_and_wrapped_token(
    token: str, between: str, width: int, column: int
) -> None:
    indent = len(between.lstrip("\r\n")) if "\n" in between else 0
    pieces = [token[: width - column]]
    while (done := len("".join(pieces))) < len(token):
        pieces.append(token[done : done + width - indent])
    written = between.join(pieces)
    for cut in range(1, len(written)):
        assert hide_in_end(f"{written[cut:]} rest {SESSION}") == f" rest {HIDDEN_TOKEN}", cut


def test_the_end_of_an_output_hides_the_token_after_a_cut_word_completely() -> None:
    for size in range(60):
        shown = hide_in_end("x" * size + f"{SESSION} rest")
        assert shown.endswith("[hidden] rest") and SESSION[-4:] not in shown


@given(st.lists(st.integers(0, 200), max_size=6), st.text(alphabet="ab m_\n", max_size=20), st.booleans())
def test_a_token_is_hidden_when_the_output_arrives_in_pieces(cuts: list[int], around: str, is_person: bool) -> None:
    token = PERSON if is_person else SESSION
    text = f"{around} {token} {around}"
    places = sorted({0, *(cut for cut in cuts if cut < len(text)), len(text)})
    pieces = [text[start:end] for start, end in zip(places, places[1:], strict=False)]
    stream = TokenFilter()
    with mock.patch.object(redaction, "_LONG_CHARS", 0):  # treat every piece as cut by the reader
        shown = "".join(map(stream.filter_piece, pieces)) + stream.release_held()
    assert shown == f"{around} {HIDDEN_TOKEN} {around}"


def test_the_filter_holds_back_only_the_possible_beginning_of_a_token() -> None:
    stream = TokenFilter()
    assert stream.filter_piece("a system") == "a system"
    assert stream.filter_piece(" mst_abc") == " "
    assert stream.filter_piece(" and so on") == "mst_abc and so on"
    assert stream.filter_piece("x" * redaction._LONG_CHARS + "mst") == "x" * redaction._LONG_CHARS
    assert stream.release_held() == "mst"
    assert stream.release_held() == ""
