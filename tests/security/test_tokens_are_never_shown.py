"""Tests that a token that a session prints or writes appears in no file and in no answer."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.server.secrets import Secrets
from maestro.testing.live import PYTHON_CLIENT, LiveServer
from maestro.testing.supervised import wait_until
from maestro.text.redaction import HIDDEN_TOKEN

MAESTRO = shlex.join(PYTHON_CLIENT)
# The commands of a careless agent. If a command fails, the agent does not write the file `finished`.
CARELESS = f"""
set -e
m() {{ {MAESTRO} "$@" > /dev/null; }}
env | grep MAESTRO
printf '%s' "$MAESTRO_TOKEN" | cut -c1-20 | tr -d '\\n'; sleep 0.2; printf '%s' "$MAESTRO_TOKEN" | cut -c21-
printf '\\033[31mmst_\\033[m%s\\n' "${{MAESTRO_TOKEN#mst_}}"
echo "$MAESTRO_TOKEN" > leaked
m mail send sibling --subject "s $MAESTRO_TOKEN" --message "b $MAESTRO_TOKEN" --attach leaked
m ask create "q $MAESTRO_TOKEN" --message "t $MAESTRO_TOKEN" --choice "c $MAESTRO_TOKEN"
m task create "t $MAESTRO_TOKEN" --description "d $MAESTRO_TOKEN" --accept "a $MAESTRO_TOKEN"
m task docs add "#1" "d $MAESTRO_TOKEN" --file leaked
m task start "#1"
m task report progress "#1" "r $MAESTRO_TOKEN"
m issue open other --title "t $MAESTRO_TOKEN" --message "m $MAESTRO_TOKEN"
m issue reply "other#1" --message "r $MAESTRO_TOKEN" --attach leaked
m session report progress "r $MAESTRO_TOKEN"
m task complete "#1"
echo done > finished
sleep 60
"""


class World:
    """A server with two projects, a careless session and a sibling of the session."""

    def __init__(self, live: LiveServer, folder: Path) -> None:
        self.live, self.repository = live, folder / "vc"
        for name in ("vc", "other"):
            subprocess.run(["git", "init", "-q", folder / name], check=True)
            self.maestro("init", "--name", name, cwd=folder / name)
        self.maestro("task", "create", "gated", "--gate", "cat leaked; exit 1")
        self.sibling = json.loads(self.maestro("session", "register", "--name", "sibling", "--json"))["token"]

    def maestro(self, *words: str, cwd: Path | None = None, token: str = "") -> str:
        env = {"MAESTRO_TOKEN": token} if token else {}
        done = self.live.run_command(*words, cwd=cwd or self.repository, env=env)
        assert done.returncode == 0, f"{words}: {done.stdout!r}{done.stderr!r}"
        return done.stdout.decode()

    def be_careless(self) -> str:
        spawn = (
            "session",
            "spawn",
            "--name",
            "careless",
            "--mode",
            "coordinate",
            "--json",
            "--",
            "sh",
            "-c",
            CARELESS,
        )
        session = json.loads(self.maestro(*spawn))["id"]
        wait_until(
            lambda: (self.repository / "finished").exists() or self._has_failed(session),
            what="the end of the careless agent's commands",
        )
        return Secrets(self.live.home).session_token(session)

    def _has_failed(self, session: str) -> None:
        shown = self.maestro("session", "show", session, "--json")
        assert json.loads(shown)["ended_at"] is None, self.maestro("session", "logs", session)


@pytest.fixture
def world(live: LiveServer, tmp_path: Path) -> Iterator[World]:
    yield World(live, tmp_path)
    live.run_command("session", "stop", "careless", cwd=tmp_path / "vc")


def test_no_file_and_no_answer_holds_a_token(world: World) -> None:
    token = world.be_careless()
    wait_until(lambda: json.loads(world.maestro("task", "show", "#1", "--json"))["status"] == "in_progress")
    for words in (
        ("session", "logs", "careless"),
        ("session", "explain", "careless", "--json"),
        ("mail", "inbox", "--json"),
        ("task", "show", "#1", "--json"),
        ("timeline", "--task", "#1", "--json"),
        ("ask", "list", "--json"),
        ("events", "--json"),
        ("task", "list", "--json"),
    ):
        shown = world.maestro(*words, token=world.sibling)
        assert token not in shown, words
    logs = world.maestro("session", "logs", "careless", token=world.sibling)
    assert logs.count(HIDDEN_TOKEN) == 3 and token[24:] not in logs
    world.maestro("session", "stop", "careless")
    assert files_with(world.live.home, token[4:]) == []


def test_the_answer_to_a_registration_contains_the_token(world: World) -> None:
    assert world.sibling.startswith("mst_") and len(world.sibling) == 47
    shown = world.maestro("whoami", "--json", token=world.sibling)
    assert "sibling" in shown


def files_with(home: Path, secret: str) -> list[str]:
    """Return the files on disk that contain a secret or its second half."""
    wanted = (secret.encode(), secret[len(secret) // 2 :].encode())
    return [
        str(path) for path in home.rglob("*") if path.is_file() and any(one in path.read_bytes() for one in wanted)
    ]
