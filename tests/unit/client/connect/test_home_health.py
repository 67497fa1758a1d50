"""`maestro doctor` names each exposed path with a remedy, and makes the data directory private."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from maestro.client.connect.home_health import close_home, describe_exposed
from maestro.system.private_home import FIX_COMMAND, LOCK_FILE, ExposedPath


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a data directory that other users can write to, with a token."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "token").write_text("known")
    folder.chmod(0o777)
    return folder


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_each_kind_of_exposed_path_is_described_with_its_own_remedy() -> None:
    path = Path("/data/x")
    plain, secret, foreign = describe_exposed(
        [
            ExposedPath(path, "is open"),
            ExposedPath(path, "is open", is_secret=True),
            ExposedPath(path, "is theirs", is_foreign=True),
        ]
    )
    assert plain == ("/data/x is open", f"{FIX_COMMAND} closes it")
    assert secret[1] == f"{FIX_COMMAND} replaces it"
    assert "MAESTRO_HOME" in foreign[1] and "chown" in foreign[1]


@pytest.mark.parametrize(("count", "lines"), [(0, 0), (10, 10), (11, 11), (25, 11)])
def test_the_first_ten_exposed_paths_are_named_and_the_rest_is_counted(count: int, lines: int) -> None:
    described = describe_exposed([ExposedPath(Path(f"/data/{number}"), "is open") for number in range(count)])
    assert len(described) == lines
    if count > 10:
        assert described[-1][0].startswith(f"{count - 10} more files")


def test_an_exposed_directory_is_made_private_and_its_secret_is_removed(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    close_home(home)
    assert mode_of(home) == 0o700 and not (home / "token").exists()
    output = capfd.readouterr().out
    assert f"closed {home}" in output and "removed token" in output and "register running sessions again" in output


def test_the_token_stays_when_no_secret_was_exposed(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home.chmod(0o755)
    (home / "token").chmod(0o600)
    close_home(home)
    assert mode_of(home) == 0o700 and (home / "token").exists()
    assert "removed" not in capfd.readouterr().out


def test_exposed_secrets_of_a_running_server_stay_until_the_person_stops_the_server(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (home / LOCK_FILE).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        close_home(home)
    assert mode_of(home) == 0o777 and (home / "token").exists()
    assert "maestro down" in capfd.readouterr().out
