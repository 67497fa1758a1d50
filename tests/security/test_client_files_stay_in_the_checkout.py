"""Tests that a session's command reads and writes only files of its checkout, unless the person permits more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import maestro
from maestro.client import script
from maestro.client.native import build
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

REFUSED = 4
SECRET = "the person's secret\n"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the Python client and, with a compiler, the native client, in a common folder as in an installation."""
    folder = tmp_path_factory.mktemp("bin")
    python = folder / "maestro-py"
    python.write_text(Path(script.__file__).read_text().replace("#!python", f"#!{sys.executable}", 1))
    python.chmod(0o755)
    (folder / "python").symlink_to(sys.executable)
    found = {"python": python}
    if build.find_compiler():
        found["native"] = folder / "maestro"
        assert build.compile_client(found["native"], version=maestro.__version__)
    return found


@pytest.fixture(params=["python", "native"])
def program(request: pytest.FixtureRequest, programs: dict[str, Path]) -> Path:
    if request.param not in programs:
        pytest.skip("no C compiler on this machine")
    return programs[request.param]


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "secrets" / "id_rsa"
    path.parent.mkdir()
    path.write_text(SECRET)
    yield path
    assert path.read_text() == SECRET


def send(path: Path | str) -> tuple[str, ...]:
    return ("mail", "send", "human", "--subject", "s", "--message", "m", "--attach", str(path))


def test_a_session_cannot_read_files_outside_the_checkout(shop: Workshop, program: Path, secret: Path) -> None:
    (shop.repo / "link").symlink_to(secret)
    (shop.repo / "folder").symlink_to(secret.parent)
    shop.create_task("Work")
    lead = shop.register_session("lead", "--mode", "coordinate")
    shop.call_as(lead, "task", "start", "#1")
    above = os.path.relpath(secret, shop.repo)
    for path in (secret, "link", "folder/id_rsa", above):
        for words in (
            send(path),
            ("mail", "send", "human", "--subject", "s", "--message-file", str(path)),
            ("task", "docs", "add", "#1", "Key", "--file", str(path)),
            ("task", "create", "T", "--description-file", str(path)),
        ):
            told = shop.call_as(lead, *words, exits=REFUSED, program=program)
            assert f"may not read {secret}" in told and f"maestro session grant {lead['id']} full" in told
    assert shop.call_json("mail", "inbox")["messages"] == []
    assert len(shop.call_json("task", "list")["tasks"]) == 1


def test_a_session_cannot_write_files_outside_the_checkout_or_settings_of_git_and_maestro(
    shop: Workshop, program: Path, secret: Path
) -> None:
    (shop.repo / "folder").symlink_to(secret.parent)
    shop.create_task("Work")
    lead = shop.register_session("lead", "--mode", "coordinate")
    hook = shop.repo / ".git" / "hooks" / "post-commit"
    for path in (secret, "folder/id_rsa", secret.parent / "new", hook, ".maestro/config.toml"):
        (shop.repo / ".maestro").mkdir(exist_ok=True)
        told = shop.call_as(lead, "timeline", "export", "#1", str(path), exits=REFUSED, program=program)
        assert "may not write" in told
    assert not hook.exists() and list(secret.parent.iterdir()) == [secret]


def test_an_export_replaces_a_link_and_does_not_follow_it(shop: Workshop, program: Path, secret: Path) -> None:
    (shop.repo / "story.html").symlink_to(secret)
    shop.create_task("Work")
    lead = shop.register_session("lead", "--mode", "coordinate")
    shop.call_as(lead, "timeline", "export", "#1", "story.html", program=program)
    assert not (shop.repo / "story.html").is_symlink() and "<html" in (shop.repo / "story.html").read_text()


def test_a_session_can_read_and_write_files_of_the_checkout(shop: Workshop, program: Path) -> None:
    (shop.repo / "docs").mkdir()
    (shop.repo / "docs" / "notes.md").write_text("notes\n")
    (shop.repo / "link").symlink_to("docs/notes.md")
    shop.create_task("Work")
    lead = shop.register_session("lead", "--mode", "coordinate")
    for path in ("docs/notes.md", "link", shop.repo / "docs" / "notes.md"):
        shop.call_as(lead, *send(path), program=program)
    shop.call_as(lead, *send("notes.md"), cwd=shop.repo / "docs", program=program)
    shop.call_as(lead, "timeline", "export", "#1", "docs/story.html", program=program)
    assert "<html" in (shop.repo / "docs" / "story.html").read_text()
    assert len(shop.call_json("mail", "inbox", "--peek")["messages"]) == 4


def test_the_person_can_use_any_file_and_can_permit_it_to_a_session(
    shop: Workshop, program: Path, secret: Path, tmp_path: Path
) -> None:
    shop.create_task("Work")
    worker = shop.register_session("worker")
    shop.call_as(worker, *send(secret), exits=REFUSED, program=program)
    shop.run_maestro("session", "grant", "worker", "full")
    shop.call_as(worker, *send(secret), program=program)
    shop.run_maestro("task", "docs", "add", "#1", "Key", "--file", str(secret))
    shop.run_maestro("timeline", "export", "#1", str(tmp_path / "story.html"))
    assert "<html" in (tmp_path / "story.html").read_text()


def test_a_session_can_attach_a_pipe_which_has_no_path(shop: Workshop, program: Path) -> None:
    worker = shop.register_session("worker")
    environment = shop.live.environment(MAESTRO_TOKEN=worker["token"])
    words = " ".join(send("/dev/stdin"))
    done = subprocess.run(
        ["sh", "-c", f"echo piped | {program} {words}"],
        cwd=shop.repo,
        env=environment,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_worker_in_a_worktree_reads_only_files_of_the_worktree(shop: Workshop) -> None:
    (shop.repo / "main-only").write_text("x\n")
    script = "echo own > own; maestro {ok} && ! maestro {bad} && echo held > held; sleep 1000"
    filled = script.format(ok=" ".join(send("own")), bad=" ".join(send(shop.repo / "main-only")))
    worker = shop.spawn_session("--name", "w", "--worktree", "--", "sh", "-c", filled)
    wait_until(lambda: (Path(worker["directory"]) / "held").exists(), what="the refusal in the worktree")
    (letter,) = shop.call_json("mail", "inbox")["messages"]
    assert letter["attachments"][0]["file_name"] == "own"


def test_a_client_that_uses_http_also_asks_the_server_before_it_reads_a_file(
    shop: Workshop, programs: dict[str, Path], secret: Path
) -> None:
    (shop.repo / "notes.md").write_text("notes\n")
    worker = shop.register_session("worker")
    environment = shop.live.environment(
        MAESTRO_TOKEN=worker["token"], MAESTRO_SERVER_URL=shop.live.url, MAESTRO_HOME="/nowhere"
    )

    def run(path: Path) -> subprocess.CompletedProcess[bytes]:
        words = [programs["python"], *send(path)]
        return subprocess.run(words, cwd=shop.repo, env=environment, capture_output=True, timeout=60, check=False)

    refused = run(secret)
    assert refused.returncode == REFUSED and b"may not read" in refused.stderr
    assert run(shop.repo / "notes.md").returncode == 0


def test_the_operation_file_check_permits_only_files_of_the_checkout(shop: Workshop, secret: Path) -> None:
    worker = shop.register_session("worker")

    def ask(token: str, path: Path, access: str) -> int:
        answer = httpx.post(
            f"{shop.live.url}/api/files/check",
            json={"path": str(path), "access": access},
            headers={"Authorization": f"Bearer {token}"},
        )
        return answer.status_code

    assert ask(worker["token"], shop.repo / "README", "read") == 200
    assert ask(worker["token"], shop.repo / "README", "write") == 200
    assert ask(worker["token"], shop.repo / ".git" / "config", "write") == 403
    assert ask(worker["token"], shop.repo / ".." / "x", "read") == 403
    assert ask(worker["token"], secret, "read") == 403
    assert ask(shop.live.token, secret, "write") == 200
