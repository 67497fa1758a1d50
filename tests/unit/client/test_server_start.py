"""The client starts a server, reads the report of its start, and explains a failure."""

import os
import time

import pytest

from maestro.client import main, server_start
from maestro.wire import exit_codes


def test_a_server_does_not_inherit_the_variables_of_the_caller(monkeypatch):
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
def test_the_start_report_gives_the_result_and_the_pid(written, said, pid):
    reading, writing = os.pipe()
    os.write(writing, written)
    os.close(writing)
    assert server_start.read_start_report(reading, until=time.monotonic() + 10) == server_start.StartResult(said, pid)
    os.close(reading)


def test_a_start_report_that_does_not_arrive_in_time_has_no_result():
    reading, writing = os.pipe()
    assert server_start.read_start_report(reading, until=time.monotonic()) == server_start.StartResult(None, None)
    os.close(reading)
    os.close(writing)


def test_the_failure_of_a_start_is_the_reported_error_the_timeout_or_the_end_of_the_log(tmp_path):
    log = tmp_path / "server.log"
    log.write_text("old\n" + "".join(f"line {n}\n" for n in range(30)))
    assert server_start.start_failure("error: no space", log, since=0) == "no space"
    assert "not ready within 15 s" in server_start.start_failure(None, log, since=0)
    tail = server_start.start_failure("", log, since=4).splitlines()
    assert tail[1:] == [f"line {n}" for n in range(10, 30)]


def test_connecting_to_a_missing_server_ends_at_the_given_time(tmp_path):
    with pytest.raises(main.CommandEnded) as ended:
        server_start.connect_until(str(tmp_path / "none"), until=time.monotonic())
    assert ended.value.code == exit_codes.NO_SERVER


def test_a_data_directory_that_cannot_be_created_ends_the_command(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MAESTRO_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(main.CommandEnded) as ended:
        server_start.make_home()
    assert "cannot make the data directory" in ended.value.message
