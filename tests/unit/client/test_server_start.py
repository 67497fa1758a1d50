"""How a server's start is judged."""

import os
import time

import pytest

from maestro.client import main, server_start
from maestro.wire import exit_codes


def test_the_callers_own_variables_stay_behind(monkeypatch):
    monkeypatch.setenv("MAESTRO_TOKEN", "secret")
    monkeypatch.setenv("MAESTRO_SESSION_ID", "ses_1")
    monkeypatch.setenv("MAESTRO_PORT", "1")
    kept = server_start.server_environment()
    assert "MAESTRO_PORT" in kept
    assert not server_start.CALLERS_OWN & kept.keys()


@pytest.mark.parametrize(
    ("written", "said", "pid"),
    [
        (b"pid 7\nready\n", "ready", 7),
        (b"pid 7\nerror: a\nmore", "error: a", 7),
        (b"pid 7\n", "", 7),
        (b"busy\n", "busy", None),
        (b"", "", None),
    ],
)
def test_what_a_supervisor_tells_of_a_start(written, said, pid):
    reading, writing = os.pipe()
    os.write(writing, written)
    os.close(writing)
    assert server_start.read_start_report(reading, until=time.monotonic() + 10) == server_start.StartResult(said, pid)
    os.close(reading)


def test_a_server_that_says_nothing_in_time():
    reading, writing = os.pipe()
    assert server_start.read_start_report(reading, until=time.monotonic()) == server_start.StartResult(None, None)
    os.close(reading)
    os.close(writing)


def test_reasons(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("old\n" + "".join(f"line {n}\n" for n in range(30)))
    assert server_start.start_failure("error: no space", log, since=0) == "no space"
    assert "not ready within 15 s" in server_start.start_failure(None, log, since=0)
    tail = server_start.start_failure("", log, since=4).splitlines()
    assert tail[1:] == [f"line {n}" for n in range(10, 30)]


def test_connecting_ends_at_its_time(tmp_path):
    with pytest.raises(main.CommandEnded) as ended:
        server_start.connect_until(str(tmp_path / "none"), until=time.monotonic())
    assert ended.value.code == exit_codes.NO_SERVER


def test_a_data_directory_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MAESTRO_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(main.CommandEnded) as ended:
        server_start.make_home()
    assert "cannot make the data directory" in ended.value.message
