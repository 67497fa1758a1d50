from __future__ import annotations

import socket

import pytest

from maestro.surfaces.cli.channel import wants_color
from maestro.surfaces.cli.peers import find_peer


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
def test_colours_are_for_whoever_wants_them(environment: dict[str, str], tty: bool, color: bool) -> None:
    assert wants_color(environment, tty=tty) is color


def test_who_is_not_attested_is_nobody() -> None:
    assert find_peer(None) is None
    with socket.socket(socket.AF_INET) as plain:
        assert find_peer(plain) is None
