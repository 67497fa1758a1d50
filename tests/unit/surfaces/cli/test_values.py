"""Durations and numbers of the command line are read and written, and other texts are refused."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.surfaces.cli import values


@pytest.mark.parametrize(
    ("text", "millis"),
    [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("2h", 7_200_000), ("250", 250), ("0", 0), ("1.5s", 1500)],
)
def test_a_duration_is_read_in_milliseconds(text: str, millis: int) -> None:
    assert values.read_duration(text, name="--timeout") == millis


@pytest.mark.parametrize("text", ["", "s", "5 minutes", "-5s", "5d", "1e3", "٣s", "9" * 40 + "s", "inf", "5m30s "])
def test_a_text_that_is_not_a_duration_is_refused_with_the_name_of_its_flag(text: str) -> None:
    with pytest.raises(Invalid, match="--timeout"):
        values.read_duration(text, name="--timeout")


@pytest.mark.parametrize(
    ("millis", "text"), [(500, "500ms"), (600_000, "10m"), (90_000, "90s"), (7_200_000, "2h"), (0, "0ms")]
)
def test_a_written_duration_is_read_back_unchanged(millis: int, text: str) -> None:
    assert values.format_duration(millis) == text
    assert values.read_duration(text, name="") == millis


@pytest.mark.parametrize("text", ["1.5", "", "x", "1_000", "٣", "0x10", "9" * 30, "--1"])
def test_a_text_that_is_not_a_whole_number_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="whole number"):
        values.read_number(text, name="--limit")


def test_a_negative_number_is_read() -> None:
    assert values.read_number("-5", name="--since") == -5
