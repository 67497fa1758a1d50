"""The version that `bd` prints decides whether `bd` is too old and whether `bd` counts comments."""

from __future__ import annotations

import pytest

from maestro.trackers.beads.generations import Generation, is_too_old, parse_generation


@pytest.mark.parametrize(
    ("text", "version", "counts"),
    [
        ("bd version 0.46.0 (dev: main@abc)", (0, 46, 0), False),
        ("bd version 0.49.9", (0, 49, 9), False),
        ("bd version 0.50.0", (0, 50, 0), True),
        ("bd version 0.50.3", (0, 50, 3), True),
        ('{"version": "1.0.5", "commit": "1.2"}', (1, 0, 5), True),
        ("bd version 2.1", (2, 1, 0), True),
    ],
)
def test_the_version_is_read_from_the_output_of_bd(text: str, version: tuple[int, int, int], counts: bool) -> None:
    found = parse_generation(text)
    assert found is not None and found.version == version and found.counts_comments is counts
    assert not is_too_old(found)


def test_text_without_a_version_has_no_generation_and_an_old_version_is_too_old() -> None:
    assert parse_generation("command not found") is None
    old = parse_generation("bd version 0.9.2")
    assert old is not None and is_too_old(old)


@pytest.mark.parametrize(
    ("version", "too_old"), [((0, 19, 9), True), ((0, 20, 0), False), ((1, 0, 0), False), ((0, 2, 99), True)]
)
def test_versions_before_0_20_are_too_old(version: tuple[int, int, int], too_old: bool) -> None:
    assert is_too_old(Generation(version)) is too_old


def test_a_generation_is_printed_as_its_version() -> None:
    assert str(Generation((0, 50, 3))) == "0.50.3"
