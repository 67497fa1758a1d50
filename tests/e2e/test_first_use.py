"""A person's first minutes, by the command alone, in a real checkout."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from maestro.testing.live import LiveServer


@pytest.fixture
def person(tmp_path: Path) -> Iterator[LiveServer]:
    """A data directory with no server: the first command starts one."""
    world = LiveServer(tmp_path / "data")
    yield world
    world.run_command("down")


def test_from_nothing_to_a_finished_graph(person: LiveServer, make_repo: Callable[..., Path]) -> None:
    repo = make_repo("vc")

    def maestro(*words: str, exits: int = 0) -> str:
        done = person.run_command(*words, cwd=repo)
        assert done.returncode == exits, done.stderr.decode()
        return (done.stdout if exits == 0 else done.stderr).decode()

    assert "vc#1" in maestro("task", "create", "Write the parser")  # starts the server, registers the project
    maestro("task", "create", "Write the tests", "--depends-on", "#1")
    assert "vc#1 (todo)" in maestro("task", "start", "#2", exits=5)
    maestro("task", "start", "#1")
    assert "vc#2" in maestro("task", "complete", "#1")
    assert json.loads(maestro("task", "ready", "--json"))["tasks"][0]["ref"] == "vc#2"
    status = json.loads(maestro("status", "--json"))
    assert maestro("down")
    maestro("status", exits=8)
    # Everything is still there, in a new server.
    assert json.loads(maestro("task", "show", "#1", "--json"))["status"] == "completed"
    assert json.loads(maestro("status", "--json"))["pid"] != status["pid"]


def test_clones_of_one_remote_share_their_tasks(person: LiveServer, make_repo: Callable[..., Path]) -> None:
    dave = make_repo("vc", folder="src/dave", remote="git@github.com:acme/vc.git")
    fred = make_repo("vc", folder="src/fred", remote="https://github.com/Acme/vc")
    person.run_command("task", "create", "Shared", cwd=dave)
    (task,) = json.loads(person.run_command("task", "list", "--json", cwd=fred).stdout)["tasks"]
    assert task["title"] == "Shared"
    shown = json.loads(person.run_command("project", "show", "--json", cwd=fred).stdout)
    assert [workspace["address"] for workspace in shown["workspaces"]] == ["dave/vc", "fred/vc"]


def test_a_repository_that_gains_commits_and_a_remote_stays_one_project(
    person: LiveServer, make_repo: Callable[..., Path]
) -> None:
    repo = make_repo("kettle", remote=None)
    person.run_command("task", "create", "Early", cwd=repo)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "first"], cwd=repo, check=True)
    person.run_command("task", "create", "With a commit", cwd=repo)
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:acme/kettle.git"], cwd=repo, check=True)
    listed = json.loads(person.run_command("task", "list", "--json", cwd=repo).stdout)["tasks"]
    assert [task["ref"] for task in listed] == ["kettle#1", "kettle#2"]
    assert (
        json.loads(person.run_command("project", "show", "--json", cwd=repo).stdout)["key"]
        == "github.com/acme/kettle"
    )


def test_a_backup_brings_everything_back(person: LiveServer, tmp_path: Path, make_repo: Callable[..., Path]) -> None:
    repo = make_repo("vc")
    big = repo / "big.bin"
    big.write_bytes(bytes(range(256)) * 400)
    person.run_command("task", "create", "Keep me", cwd=repo)
    added = json.loads(
        person.run_command("task", "docs", "add", "#1", "Big", "--file", "big.bin", "--json", cwd=repo).stdout
    )
    assert person.run_command("backup", str(tmp_path / "all.tar"), cwd=repo).returncode == 0
    assert person.run_command("backup", str(tmp_path / "all.tar"), cwd=repo).returncode == 5  # never overwritten
    person.run_command("task", "delete", "#1", cwd=repo)
    assert person.run_command("restore", str(tmp_path / "all.tar"), cwd=repo).returncode != 0  # the server still runs
    person.run_command("down")
    restored = person.run_command("restore", str(tmp_path / "all.tar"), cwd=repo)
    assert restored.returncode == 0, restored.stderr
    assert person.run_command("task", "docs", "show", added["id"], cwd=repo).stdout == big.read_bytes()
    assert list((tmp_path / "data").glob("before-restore-*/maestro.db"))


def test_a_damaged_backup_changes_nothing(person: LiveServer, tmp_path: Path, make_repo: Callable[..., Path]) -> None:
    repo = make_repo("vc")
    person.run_command("task", "create", "Keep me", cwd=repo)
    person.run_command("down")
    bad = tmp_path / "bad.tar"
    bad.write_bytes(b"not a backup")
    assert person.run_command("restore", str(bad), cwd=repo).returncode == 1
    assert len(json.loads(person.run_command("task", "list", "--json", cwd=repo).stdout)["tasks"]) == 1
