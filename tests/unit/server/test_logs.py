"""No entry of the server's log shows a token."""

from __future__ import annotations

import logging

import pytest

from maestro.server.logs import configure_logging


def test_the_log_hides_tokens_in_entries_and_tracebacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = logging.RootLogger(logging.WARNING)
    monkeypatch.setattr(logging, "root", root)
    configure_logging()
    token = "mst_" + "a1B2" * 11
    try:
        raise ValueError(f"the token is {token}")
    except ValueError:
        root.exception("a caller with %s", token)
    written = capsys.readouterr().err
    assert "a caller with mst_" in written and "ValueError: the token is mst_" in written
    assert token not in written
