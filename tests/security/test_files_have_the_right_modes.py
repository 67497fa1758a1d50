"""Tests that Maestro's files are private under every umask, and that started programs get the person's umask."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.testing.live import PYTHON_CLIENT
from maestro.testing.supervised import wait_until

# The worktrees are the person's. All other files in the data directory are Maestro's.
PERSONS = ("worktrees",)


class Person:
    """A person with a umask, a data directory and a repository."""

    def __init__(self, folder: Path, umask: int) -> None:
        self.umask, self.home, self.repository = umask, folder / "data", folder / "repo"
        self.repository.mkdir()
        settings = self.repository / ".maestro"
        settings.mkdir()
        (settings / "config.toml").write_text('[worktree]\ncopy = [".env"]\nsetup = "umask > from-setup"\n')
        (self.repository / ".env").write_text("x=1\n")
        (self.repository / ".env").chmod(0o666)
        (self.repository / ".gitignore").write_text(".env\nfrom-*\n")
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            self.run("git", *words)

    def maestro(self, *words: str) -> str:
        return self.run(*PYTHON_CLIENT, *words)

    def run(self, *words: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
        done = subprocess.run(
            words,
            env=kept | {"MAESTRO_HOME": str(self.home)},
            cwd=self.repository,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            umask=self.umask,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["000", "022", "077"])
def person(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Person]:
    made = Person(tmp_path, request.param)
    yield made
    made.maestro("down")


def test_files_of_maestro_are_private_and_programs_get_the_umask_of_the_person(person: Person) -> None:
    person.maestro("up", "--port", "0")
    person.maestro("init")
    person.maestro("config", "set", "events_days", "30")
    person.maestro("project", "link", "pot", "--local", "--remote", "https://example.org/acme/pot")
    person.maestro("backup", str(person.home / "saved.tar"))
    script = "umask > from-agent; mkdir from-folder; sleep 60"
    answer = person.maestro("session", "spawn", "--name", "ada", "--worktree", "--json", "--", "sh", "-c", script)
    assert json.loads(answer)
    worktree = wait_until(lambda: next(iter(person.home.glob("worktrees/*/*/from-folder")), None)).parent
    for name in ("from-setup", "from-agent"):
        assert int((worktree / name).read_text(), 8) == person.umask, name
    expected = {".git": 0o666, ".gitignore": 0o666, ".env": 0o666, "from-folder": 0o777, ".": 0o777}
    assert mode(person.repository / ".maestro" / ".gitignore") == 0o644 & ~person.umask
    for name, made in expected.items():
        assert mode(worktree / name) == made & ~person.umask, name
    assert [f"{path} {mode(path):o}" for path in own_files(person.home) if mode(path) & 0o077] == []
    names = {path.name for path in own_files(person.home)}
    assert {"maestro.db", "maestro.db-wal", "server.log", "server.json", "config.toml", "saved.tar"} <= names
    assert {"token", "secret", "transcript.cast", "runner.log", "runner.json"} <= names
    person.maestro("session", "stop", "ada")


def own_files(home: Path) -> list[Path]:
    return [
        path
        for path in [home, *home.rglob("*")]
        if path.relative_to(home).parts[:1] != (PERSONS[0],) and not path.is_symlink()
    ]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)
