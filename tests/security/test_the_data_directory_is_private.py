"""Tests that only the user can reach the data directory: Maestro refuses an open directory, and doctor repairs it."""

import json
import os
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.supervised import wait_until

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    yield folder
    run(folder, "down")


def run(home: Path, *words: str, umask: int = 0o022, **extra: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
    return subprocess.run(
        [*PYTHON_CLIENT, *words],
        env=kept | {"MAESTRO_HOME": str(home)} | extra,
        cwd=home.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        umask=umask,
    )


def status_of(live: LiveServer, token: str) -> int:
    request = urllib.request.Request(f"{live.url}/api/whoami", headers={"Authorization": f"Bearer {token}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_an_open_data_directory_with_a_token_is_refused_by_the_command(home: Path) -> None:
    home.mkdir()
    home.chmod(0o777)
    (home / "token").write_text("known\n")
    done = run(home, "up", "--port", "0")
    assert done.returncode == 8
    assert f"{home}" in done.stderr and "0777" in done.stderr and "maestro doctor --fix" in done.stderr
    assert sorted(path.name for path in home.iterdir()) == ["token"]  # the command wrote nothing


def test_an_open_data_directory_is_refused_by_the_server(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "server.log").touch()
    home.chmod(0o755)
    live = LiveServer(home)
    with pytest.raises(RuntimeError, match=r"0755.*maestro doctor --fix"):
        live.start()
    assert live.process is not None and live.process.wait(30) == 1


def test_an_empty_open_data_directory_of_the_user_is_made_private(home: Path) -> None:
    home.mkdir()
    home.chmod(0o755)
    done = run(home, "up", "--port", "0")
    assert done.returncode == 0, done.stderr
    assert mode(home) == 0o700


@as_root
def test_a_data_directory_of_another_user_is_refused(home: Path) -> None:
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY, -1)
    done = run(home, "up", "--port", "0")
    assert done.returncode == 8
    assert "nobody" in done.stderr and "MAESTRO_HOME" in done.stderr
    assert list(home.iterdir()) == []
    assert "nobody" in run(home, "doctor").stdout


@as_root
def test_a_data_directory_with_a_file_of_another_user_is_refused(home: Path) -> None:
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("")
    os.chown(home / "config.toml", NOBODY, -1)
    done = run(home, "up", "--port", "0")
    assert done.returncode == 8 and str(home / "config.toml") in done.stderr and "nobody" in done.stderr


@pytest.mark.parametrize("name", ["token", "secret"])
def test_a_secret_file_that_others_can_read_is_refused(home: Path, name: str) -> None:
    with LiveServer(home) as live:
        live.stop()
    (home / name).chmod(0o644)
    done = run(home, "up", "--port", "0")
    assert done.returncode == 8
    assert str(home / name) in done.stderr and "0644" in done.stderr and "maestro doctor --fix" in done.stderr


def test_a_secret_file_that_is_a_link_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("known\n")
    home.mkdir(mode=0o700)
    (home / "token").symlink_to(tmp_path / "elsewhere")
    done = run(home, "up", "--port", "0")
    assert done.returncode == 8 and "symbolic link" in done.stderr


def test_doctor_names_open_files_and_changes_nothing(home: Path) -> None:
    with LiveServer(home) as live:
        live.stop()
    for path, wide in ((home, 0o755), (home / "token", 0o644), (home / "blobs", 0o755)):
        if path.name == "blobs":
            path.mkdir(exist_ok=True)
        path.chmod(wide)
    (home / "blobs" / "aa").write_text("x")
    (home / "blobs" / "aa").chmod(0o644)
    done = run(home, "doctor")
    assert done.returncode == 1
    for named in (str(home), "0755", str(home / "token"), "0644", str(home / "blobs" / "aa")):
        assert named in done.stdout
    assert mode(home) == 0o755 and mode(home / "token") == 0o644


def test_doctor_fix_makes_the_directory_private_and_replaces_exposed_secrets(home: Path) -> None:
    with LiveServer(home) as live:
        old, session = live.token, register(live)
        secret = (home / "secret").read_text()
        assert status_of(live, session) == 200
        live.stop()
    home.chmod(0o777)
    done = run(home, "doctor", "--fix")
    assert mode(home) == 0o700
    assert "token" in done.stdout and "register running sessions again" in done.stdout, done.stdout
    wait_until(lambda: (home / "server.json").exists())
    with_new = LiveServer(home)
    assert with_new.token != old and (home / "secret").read_text() != secret
    assert (status_of(with_new, old), status_of(with_new, session)) == (401, 401)
    assert status_of(with_new, with_new.token) == 200
    assert run(home, "doctor").stdout.count(str(home / "token")) == 0


def test_doctor_fix_keeps_secrets_that_others_could_not_reach(home: Path) -> None:
    with LiveServer(home) as live:
        old = live.token
        live.stop()
    home.chmod(0o755)  # others could list the directory, but could neither read nor replace the token
    run(home, "doctor", "--fix")
    assert mode(home) == 0o700 and (home / "token").read_text().strip() == old


def test_doctor_fix_replaces_no_secret_of_a_running_server(home: Path) -> None:
    with LiveServer(home) as live:
        old = live.token
        home.chmod(0o777)
        done = run(home, "doctor", "--fix")
        assert done.returncode == 1 and "maestro down" in done.stdout
        assert mode(home) == 0o777 and live.token == old  # the modes stay as evidence until the secrets are replaced


def test_a_session_cannot_run_doctor_fix(home: Path) -> None:
    with LiveServer(home) as live:
        live.stop()
    home.chmod(0o777)
    assert run(home, "doctor", "--fix", MAESTRO_TOKEN="mst_x").returncode == 4
    assert mode(home) == 0o777


def register(live: LiveServer) -> str:
    (live.home.parent / "repo").mkdir()
    subprocess.run(["git", "init", "-q", live.home.parent / "repo"], check=True)
    here = live.home.parent / "repo"
    assert live.run_command("init", cwd=here).returncode == 0
    done = live.run_command("session", "register", "--name", "ada", "--json", cwd=here)
    token: str = json.loads(done.stdout)["token"]
    return token
