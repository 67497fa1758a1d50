"""The client runs the view whose name the server sends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from maestro.client import live
from maestro.client.main import CommandEnded


def test_the_client_runs_a_view_with_the_facts_of_the_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handed = {"do": "down", "home": str(tmp_path), "pid": 1, "text": "the server has ended\n"}
    assert live.run(json.dumps(handed).encode()) == 0
    assert capfd.readouterr().out == "the server has ended\n"


def test_the_client_understands_the_facts_of_an_earlier_server(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Check the field names of an earlier version: during an upgrade the new client ends the earlier server."""
    handed = {"do": "down", "home": str(tmp_path), "pid": 1, "said": "the server has ended\n"}
    assert live.run(json.dumps(handed).encode()) == 0
    assert capfd.readouterr().out == "the server has ended\n"


@pytest.mark.parametrize("name", ["fly", "terminal", "../main"])
def test_a_view_that_the_client_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(CommandEnded, match="compare the versions"):
        live.run(json.dumps({"do": name}).encode())
