"""After an upgrade, sessions of runners of an earlier version continue, with the paths that the runners know."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import MAESTRO, Workshop
from maestro.wire.runner_folder import EARLIER_SESSIONS, IDENTITY, SESSIONS

REPOSITORY = Path(__file__).parents[3]
EARLIER_COMMIT = "8c31cd7"  # the last commit before schema 20: `runs/`, and `agent` in identity files
# Writes into its folder by the absolute path from its start, and reports by the command.
PROGRAM = f"""
until [ -e go ]; do sleep 0.05; done
folder="$(dirname "$MAESTRO_TASK_PROMPT_FILE")"
echo "$folder" > folder
echo written > "$folder/by-path"
{MAESTRO} session report progress "Still here." > answer 2>&1
until [ -e end ]; do sleep 0.05; done
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    repo = tmp_path / "vc"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repo)], check=True)
    made = Workshop(LiveServer(tmp_path / "data"), repo)
    yield made
    for file in made.live.home.glob(f"*/*/{IDENTITY}"):  # `close` knows only the present names
        write_identity(file, "agent", "program")
    made.close()


def write_identity(file: Path, before: str, after: str) -> None:
    """Write the identity file with another name for the program."""
    identity = json.loads(file.read_bytes())
    file.write_text(json.dumps({name.replace(before, after): value for name, value in identity.items()}))


def start_earlier_server(shop: Workshop) -> subprocess.Popen[bytes]:
    """Start a server with the folder of earlier versions, and wait until it answers."""
    command = [sys.executable, str(Path(__file__).with_name("earlier_server.py")), "--port", "0"]
    shop.live.home.mkdir(mode=0o700, exist_ok=True)
    process = subprocess.Popen([*command, "--home", str(shop.live.home)], env=shop.live.environment())
    wait_until((shop.live.home / "maestro.sock").exists, what="the start of the earlier server")
    return process


def spawn_with_earlier_runner(shop: Workshop) -> dict[str, Any]:
    """Spawn a session under a server with the earlier names, stop the server, and return the session."""
    process = start_earlier_server(shop)
    try:
        made = shop.spawn_session("--name", "ada", "--", "sh", "-c", PROGRAM)
        file = shop.live.home / EARLIER_SESSIONS / made["id"] / IDENTITY
        wait_until(lambda: shop.show_session("ada")["status"] == "working", what="the program's start")
    finally:
        process.terminate()
        process.wait(20)
    write_identity(file, "program", "agent")  # the name in files of an earlier runner
    return made


def test_a_session_of_an_earlier_runner_continues_and_its_folder_gets_the_new_name(shop: Workshop) -> None:
    made = spawn_with_earlier_runner(shop)
    link = shop.live.home / EARLIER_SESSIONS
    assert not link.is_symlink() and not (shop.live.home / SESSIONS).exists()
    shop.live.start()
    assert link.readlink() == Path(SESSIONS) and (shop.live.home / SESSIONS / made["id"]).is_dir()
    (shop.repo / "go").touch()
    wait_until(lambda: (shop.repo / "answer").exists() and (shop.repo / "answer").read_text(), what="the report")
    assert "session.reported" in shop.run_maestro("events"), "the token from before the upgrade is valid"
    assert f"/{EARLIER_SESSIONS}/{made['id']}" in (shop.repo / "folder").read_text(), "the program knows the old path"
    written = shop.live.home / SESSIONS / made["id"] / "by-path"
    assert written.read_text() == "written\n", "the path from before the upgrade is valid"
    shop.run_maestro("session", "prompt", "ada", "Hello")
    (shop.repo / "end").touch()
    assert shop.wait_for_session_end("ada")["status"] == "completed"
    shop.live.stop()
    shop.live.start()
    assert not link.is_symlink() and not link.exists(), "no earlier runner lives"
    assert "Hello" in shop.run_maestro("session", "logs", "ada")


def test_a_start_after_a_kill_between_the_rename_and_the_link_makes_the_link(shop: Workshop) -> None:
    made = spawn_with_earlier_runner(shop)
    (shop.live.home / EARLIER_SESSIONS).rename(shop.live.home / SESSIONS)
    shop.live.start()
    assert (shop.live.home / EARLIER_SESSIONS).readlink() == Path(SESSIONS)
    shop.run_maestro("session", "stop", "ada")
    assert shop.wait_for_session_end("ada")["id"] == made["id"]


def test_session_folders_of_an_earlier_version_that_ran_again_are_moved(shop: Workshop) -> None:
    made = spawn_with_earlier_runner(shop)
    before = shop.live.home / SESSIONS / made["id"]
    before.mkdir(parents=True)
    (before / "transcript.cast").write_text("older")
    shop.live.start()
    kept = sorted(path.name for path in (shop.live.home / SESSIONS).iterdir())
    assert kept[0] == made["id"] and kept[1].startswith(f"{made['id']}.before-")
    assert (shop.live.home / EARLIER_SESSIONS).readlink() == Path(SESSIONS)
    shop.run_maestro("session", "stop", "ada")


@pytest.mark.slow
def test_a_restore_finds_agents_of_an_earlier_version(shop: Workshop, tmp_path: Path) -> None:
    made = spawn_with_earlier_runner(shop)
    backup = tmp_path / "backup.tar"
    command = [sys.executable, "-m", "maestro.server", "--home", str(shop.live.home)]
    environment = shop.live.environment()
    subprocess.run([*command, "--backup", str(backup)], env=environment, check=True, capture_output=True)
    refused = subprocess.run([*command, "--restore", str(backup)], env=environment, capture_output=True, check=False)
    assert refused.returncode == 1 and made["id"] in refused.stderr.decode()
    done = subprocess.run(
        [*command, "--restore", str(backup), "--end-agents"], env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def earlier_python(tmp_path: Path) -> Path:
    """Return an interpreter that imports the code of the earlier commit, also in processes with a new environment."""
    found = subprocess.run(
        ["git", "cat-file", "-e", EARLIER_COMMIT], cwd=REPOSITORY, capture_output=True, check=False
    )
    if found.returncode != 0:
        pytest.skip(f"this clone does not have the commit {EARLIER_COMMIT}, which holds the earlier version")
    archive = ["git", "archive", EARLIER_COMMIT, "src/maestro"]
    packed = subprocess.run(archive, cwd=REPOSITORY, capture_output=True, check=True).stdout
    folder = tmp_path / "earlier"
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(folder, filter="data")
    venv.create(folder / "venv", symlinks=True)
    packages = sysconfig.get_path("purelib", vars={"base": str(folder / "venv")})
    # The earlier code comes first: the present packages include the present version of Maestro.
    paths = (str(folder / "src"), sysconfig.get_path("purelib"))
    Path(packages, "earlier.pth").write_text("".join(f"{path}\n" for path in paths))
    return folder / "venv" / "bin" / "python"


def spawn_with_earlier_version(shop: Workshop, python: Path, commands: dict[str, str]) -> dict[str, str]:
    """Spawn a session for each shell command under a server of the earlier version, and kill the server.

    Return the ids of the sessions by name.
    """
    environment = shop.live.environment()
    shop.live.home.mkdir(mode=0o700)
    with (shop.live.home / "earlier.log").open("wb") as log:
        server = [str(python), "-m", "maestro.server", "--home", str(shop.live.home), "--port", "0"]
        process = subprocess.Popen(server, env=environment, stdout=log, stderr=log)
    try:
        wait_until((shop.live.home / "maestro.sock").exists, what="the start of the earlier server")

        def call(*arguments: str) -> Any:
            command = [str(python), *PYTHON_CLIENT[1:], *arguments]
            done = subprocess.run(command, cwd=shop.repo, env=environment, capture_output=True, check=True)
            return json.loads(done.stdout)

        made = {
            name: call("session", "spawn", "--json", "--name", name, "--", "sh", "-c", command)["id"]
            for name, command in commands.items()
        }
        for name in made:
            wait_until(
                lambda name=name: call("session", "show", name, "--json")["status"] == "working",
                what=f"the start of {name}",
            )
    finally:
        process.kill()
        process.wait()
    return made


@pytest.mark.slow
def test_sessions_of_the_real_earlier_version_continue_under_the_present_server(
    shop: Workshop, earlier_python: Path
) -> None:
    commands = {"ada": PROGRAM, "ben": "sleep 1000"}
    made = spawn_with_earlier_version(shop, earlier_python, commands)
    identities = [shop.live.home / EARLIER_SESSIONS / id / IDENTITY for id in made.values()]
    assert all("agent" in json.loads(file.read_bytes()) for file in identities), (
        "the runners are of the earlier version"
    )
    shop.live.start()
    assert (shop.live.home / EARLIER_SESSIONS).readlink() == Path(SESSIONS)
    assert {name: shop.show_session(name)["status"] for name in made} == {"ada": "working", "ben": "working"}
    assert len(shop.call_json("session", "list")["sessions"]) == 2, "no session is started again"
    (shop.repo / "go").touch()
    wait_until(lambda: (shop.repo / "answer").exists() and (shop.repo / "answer").read_text(), what="the report")
    assert "session.reported" in shop.run_maestro("events"), "the token of the earlier version is valid"
    assert (shop.live.home / SESSIONS / made["ada"] / "by-path").read_text() == "written\n"
    (shop.repo / "end").touch()
    assert shop.wait_for_session_end("ada")["status"] == "completed", "the report of the end is received"
    shop.run_maestro("session", "stop", "ben")
    assert shop.wait_for_session_end("ben")["status"] == "stopped"
    shop.live.stop()
    shop.live.start()
    assert not (shop.live.home / EARLIER_SESSIONS).is_symlink(), "no earlier runner lives"
