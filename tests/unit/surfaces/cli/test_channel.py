"""Variables and terminal of the client decide whether the output has colours."""

from __future__ import annotations

import pytest

from maestro.surfaces.cli.channel import wants_color


@pytest.mark.parametrize(
    ("environment", "tty", "color"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_variables_of_the_person_decide_about_colours_before_the_terminal(
    environment: dict[str, str], tty: bool, color: bool
) -> None:
    assert wants_color(environment, tty=tty) is color
