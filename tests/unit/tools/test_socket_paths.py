"""A path that is too long for a socket address is replaced by a short path in a private folder."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

import pytest

from maestro.tools import socket_paths


def new_session_id() -> str:
    """Return an id of its own for each test: the folders are below /tmp, which all test processes share."""
    return f"ses_{secrets.token_hex(8)}"


def test_a_long_socket_path_is_replaced_by_a_short_path_in_a_private_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / "in.sock"
    short = socket_paths.short_socket_path(deep, new_session_id())
    assert len(str(short)) < 100 and short.name == "in.sock"
    assert short.parent.stat().st_mode & 0o777 == 0o700
    short.parent.rmdir()


def test_a_short_socket_path_stays_unchanged() -> None:
    short = Path("/" + "d" * 91) / "in.sock"
    assert len(str(short)) == 100
    assert socket_paths.short_socket_path(short, "ses_1") == short


def test_the_length_of_a_socket_address_is_counted_in_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    wide = tmp_path / ("ü" * 60) / "in.sock"
    session_id = new_session_id()
    short = socket_paths.short_socket_path(wide, session_id)
    assert short == Path(f"/tmp/maestro-{session_id[-12:]}/in.sock")
    short.parent.rmdir()


def test_a_temporary_directory_with_a_long_path_is_not_used_for_sockets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("t" * 120)))
    short = socket_paths.short_socket_path(tmp_path / ("d" * 120) / "in.sock", new_session_id())
    assert short.is_relative_to("/tmp") and len(str(short)) <= 100
    short.parent.rmdir()
