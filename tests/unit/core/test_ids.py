"""Ids name the kind of their object and sort by the time of creation; no other text is accepted as an id."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from maestro.core import ids

AT = datetime(2026, 3, 1, 12, 0, 0, 500, tzinfo=UTC)
VALID = "tsk_01kjmma2g0ez8bff6bw5dy6d2w"


@pytest.mark.parametrize("prefix", get_args(ids.Prefix))
def test_a_new_id_has_the_form_of_its_prefix(prefix: ids.Prefix) -> None:
    made = ids.new_id(prefix, AT)
    assert ids.is_id(made) and ids.is_id(made, prefix)
    assert made.startswith(f"{prefix}_") and len(made) == len(prefix) + 27


def test_ids_that_are_created_at_the_same_time_differ() -> None:
    assert len({ids.new_id("msg", AT) for _ in range(1_000)}) == 1_000


@pytest.mark.parametrize("later", [timedelta(microseconds=1), timedelta(milliseconds=1), timedelta(days=4_000)])
def test_an_id_of_a_later_time_sorts_after_an_earlier_id(later: timedelta) -> None:
    for _ in range(20):  # the rest of an id is random: repeat, so that a right order by chance is improbable
        assert ids.new_id("tsk", AT) < ids.new_id("tsk", AT + later)


def test_the_lowest_id_is_below_all_ids_of_its_millisecond_and_above_earlier_ids() -> None:
    millisecond = AT.replace(microsecond=0)
    lowest = ids.lowest_id("ses", AT)
    assert ids.is_id(lowest, "ses")
    assert lowest < ids.new_id("ses", millisecond)
    assert ids.new_id("ses", millisecond - timedelta(microseconds=1)) < lowest


def test_an_id_holds_the_version_and_the_variant_of_uuid_version_7() -> None:
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    bits = 0
    for letter in VALID.partition("_")[2]:
        bits = bits * 32 + alphabet.index(letter)
    assert (bits >> 76) & 0xF == 7 and (bits >> 62) & 0b11 == 0b10


@pytest.mark.parametrize(
    "text",
    [
        "",
        VALID[:-1],
        f"{VALID}0",
        f"{VALID}\n",
        f" {VALID}",
        VALID.upper(),
        VALID.replace("tsk_", "xyz_"),
        VALID.replace("_", "-"),
        f"{VALID[:-1]}i",
        f"{VALID[:-1]}u",
    ],
    ids=repr,
)
def test_a_text_of_another_form_is_not_an_id(text: str) -> None:
    assert not ids.is_id(text)


def test_an_id_with_another_prefix_is_not_accepted() -> None:
    assert not ids.is_id(VALID, "ses")
