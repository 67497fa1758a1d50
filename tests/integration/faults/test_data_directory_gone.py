"""A server whose data directory is removed or replaced acknowledges nothing more and stops."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from maestro.store.layout import DATABASE
from maestro.testing.live import LiveServer

SECONDS_MAX = 30.0
REQUESTS = 45


class Remembered(LiveServer):
    """A server whose address stays known without its data directory."""

    @cached_property
    def url(self) -> str:  # type: ignore[override]
        return super().url


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[tuple[LiveServer, Path]]:
    """Provide a server whose log lies outside the data directory, and the path of the log."""
    live = Remembered(tmp_path / "home")
    log = tmp_path / "stderr"
    live.home.mkdir(mode=0o700)
    with log.open("wb") as output:
        live.process = subprocess.Popen(
            [sys.executable, "-m", "maestro.server", "--home", str(live.home), "--port", "0"],
            env=live.environment(MAESTRO_READY_FD="1"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
        )
        assert live.process.stdout is not None
        assert live.process.stdout.readline() == b"ready\n"
        yield live, log
        live.kill()
        live.process.stdout.close()


def replace_database(home: Path) -> None:
    copy = home / "copy"
    shutil.copy(home / DATABASE, copy)
    copy.rename(home / DATABASE)


def is_acknowledged(api: Any, project: str, title: str) -> bool:
    try:
        api.call("POST", "/api/tasks", project=project, title=title)
    except (OSError, HTTPException):
        return False  # the server has stopped
    except Exception as error:  # noqa: BLE001 (checked below)
        assert error.body["code"] in ("storage_gone", "storage_failed")  # type: ignore[attr-defined]
        return False
    return True


LOSSES: dict[str, Callable[[Path], object]] = {
    "directory removed": shutil.rmtree,
    "directory renamed": lambda home: home.rename(home.with_name("elsewhere")),
    "database removed": lambda home: (home / DATABASE).unlink(),
    "database replaced": replace_database,
    "write-ahead log removed": lambda home: (home / f"{DATABASE}-wal").unlink(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_server_without_its_data_directory_acknowledges_no_write_and_stops(
    logged: tuple[LiveServer, Path], connect: Any, init: Any, loss: str
) -> None:
    live, log = logged
    api = connect(live, live.token)
    project = init(api, "vc")
    api.call("POST", "/api/tasks", project=project, title="kept")
    LOSSES[loss](live.home)
    acknowledged = [number for number in range(REQUESTS) if is_acknowledged(api, project, f"t{number}")]
    assert acknowledged == []
    assert live.process is not None
    assert live.process.wait(SECONDS_MAX) == 6
    said = log.read_text()
    assert "Traceback" not in said
    assert str(live.home / DATABASE) in said and "stops" in said
