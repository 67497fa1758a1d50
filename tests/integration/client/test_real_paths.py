"""Both clients open a file by its real path, and send its content only when the server asks."""

import os

import pytest

from maestro.testing.frames import InputRefused


def test_a_file_is_opened_by_its_real_path_and_sent_when_asked_for(client, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "one.log").write_bytes(b"one")
    (tmp_path / "link").symlink_to("real")
    got = []

    def script(connection, request):
        got.append(connection.request_input(b"P", b"link/one.log"))
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "one.log").write_bytes(b"swapped")
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("other")
        got.append(connection.request_input(b"F"))
        got.append(connection.request_input(b"P", b"link"))
        with pytest.raises(InputRefused, match="No such file or directory: gone"):
            connection.request_input(b"P", b"gone")
        connection.send_exit()

    with client.serve(script):
        assert client.run("x", cwd=tmp_path).returncode == 0
    assert got == [os.fsencode(tmp_path / "real" / "one.log"), b"one", os.fsencode(tmp_path / "other")]


def test_a_file_that_was_not_opened_is_not_sent(client, tmp_path):
    def script(connection, request):
        with pytest.raises(InputRefused):
            connection.request_input(b"F")
        connection.send_exit()

    with client.serve(script):
        assert client.run("x", cwd=tmp_path).returncode == 0
