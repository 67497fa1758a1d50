"""Tests that a file named in a hook's payload is read only in the tool's folder, and never blocks other callers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from maestro.services.conversations import record_files
from maestro.testing.live import LiveServer
from maestro.testing.supervised import wait_until

HOOKS = 10
ANSWER_SECONDS_MAX = 30.0
LINE = json.dumps({"message": {"id": "m1", "model": "x", "usage": {"input_tokens": 3, "output_tokens": 4}}}) + "\n"
# A stand-in for claude: writes its token into a file and stays until its terminal ends.
CLAUDE = '#!/bin/sh\nprintf "%s\\n" "$MAESTRO_TOKEN" > "$TOKEN_FILE"\nexec sleep 120\n'


class Agent:
    """A session in a terminal whose hooks report its turns."""

    def __init__(self, live: LiveServer, folder: Path, token: str) -> None:
        self.live, self.folder, self.token = live, folder, token

    def stop(self, transcript: Path | str, seconds: float = ANSWER_SECONDS_MAX) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        body = {"transcript_path": str(transcript), "session_id": "c1"}
        return httpx.post(f"{self.live.url}/hooks/claude/Stop", json=body, headers=headers, timeout=seconds)

    def used(self) -> Any:
        done = self.live.run_command("session", "show", "w", "--json", cwd=self.folder.parent / "vc")
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)["usage"]


@pytest.fixture
def agent(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Agent]:
    program, token, own = tmp_path / "bin" / "claude", tmp_path / "token", tmp_path / "src" / "dave" / "claude-own"
    program.parent.mkdir()
    own.mkdir(parents=True)
    program.write_text(CLAUDE)
    program.chmod(0o755)
    settings = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "TOKEN_FILE": str(token),
        "CLAUDE_CONFIG_DIR": str(own),
    }
    with LiveServer(tmp_path / "live", settings) as live:
        words = ("session", "spawn", "--name", "w", "--tool", "claude", "--driver", "terminal", "--json")
        done = live.run_command(*words, cwd=make_repo("vc"))
        assert done.returncode == 0, done.stderr.decode()
        said = wait_until(
            lambda: token.exists() and token.read_text().endswith("\n") and token.read_text(),
            what="the token of the agent",
        )
        yield Agent(live, own, said.strip())
        live.run_command("session", "stop", "w", cwd=tmp_path / "src" / "dave" / "vc")


def test_ten_pipes_as_record_files_do_not_block_other_callers(agent: Agent) -> None:
    pipe = agent.folder / "pipe"
    os.mkfifo(pipe)
    callers = [threading.Thread(target=_fire, args=(agent, pipe)) for _ in range(HOOKS)]
    for caller in callers:
        caller.start()
    try:
        headers = {"Authorization": f"Bearer {agent.live.token}"}
        for _ in range(5):
            answer = httpx.get(f"{agent.live.url}/api/templates", headers=headers, timeout=ANSWER_SECONDS_MAX)
            assert answer.status_code == 200
    finally:
        _release(pipe)
        for caller in callers:
            caller.join()


def test_the_usage_in_a_record_file_below_the_folder_of_the_tool_is_counted(agent: Agent) -> None:
    record = agent.folder / "projects" / "c1.jsonl"
    record.parent.mkdir()
    record.write_text(LINE)
    assert agent.stop(record).status_code == 200
    (used,) = wait_until(agent.used, what="the usage of the session")
    assert (used["input_tokens"], used["output_tokens"]) == (3, 4)


@pytest.mark.parametrize("how", ["elsewhere", "a link to elsewhere", "dots"])
def test_a_record_file_outside_the_folder_of_the_tool_is_not_read(agent: Agent, tmp_path: Path, how: str) -> None:
    outside = tmp_path / "secret.jsonl"
    outside.write_text(LINE)
    named = {"elsewhere": outside, "dots": agent.folder / ".." / ".." / ".." / outside.name}.get(how)
    if named is None:
        named = agent.folder / "link.jsonl"
        named.symlink_to(outside)
    assert agent.stop(named).status_code == 200
    assert agent.used() in ([], None)


async def test_reads_of_record_files_that_hang_block_only_their_own_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A read of a regular file can hang too, for example on a network disk.
    hung, go_on = threading.Semaphore(0), threading.Event()

    def hang(record: str, folders: tuple[str, ...], start: int | None) -> None:
        hung.release()
        go_on.wait(ANSWER_SECONDS_MAX)

    monkeypatch.setattr(record_files, "_read_piece", hang)
    readers = [asyncio.create_task(record_files.read_record("x", (str(tmp_path),), start=0)) for _ in range(HOOKS)]
    try:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            await asyncio.to_thread(hung.acquire)
            assert await asyncio.gather(*(asyncio.to_thread(int, "1") for _ in range(HOOKS))) == [1] * HOOKS
    finally:
        go_on.set()
        await asyncio.gather(*readers)


def _fire(agent: Agent, pipe: Path) -> None:
    with contextlib.suppress(httpx.HTTPError):  # the test itself checks that the server still answers
        agent.stop(pipe, seconds=ANSWER_SECONDS_MAX)


def _release(pipe: Path) -> None:
    """Release every reader that waits for a writer of the pipe."""
    for _ in range(HOOKS):
        try:
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            return
