"""The server reads the files of runners, kills programs without a runner, and sends requests to runners."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.system import processes
from maestro.wire import end_record, frames, runner_folder

Folders = Any
SESSION = "ses_one"


@contextlib.contextmanager
def held_lock(folders: Folders, session_id: str) -> Iterator[None]:
    """Hold the lock of a session as its live runner does."""
    path = folders.write(session_id, runner_folder.LOCK, "")
    with path.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.asynccontextmanager
async def listening_runner(
    folders: Folders, answer: Callable[[dict[str, Any]], dict[str, Any]]
) -> AsyncIterator[None]:
    """Answer requests on the control socket of a session; send a frame with output before each answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readexactly(frames.HEAD_BYTES)
        request = json.loads(await reader.readexactly(frames.payload_bytes(head)))
        writer.write(frames.pack_frame(b"O", b"output"))
        writer.write(frames.pack_frame(frames.ANSWER, json.dumps(answer(request)).encode()))
        writer.close()

    folders.write(SESSION, runner_folder.LOG, "")
    path = folders.runners.session_folder(SESSION) / runner_folder.CONTROL_SOCKET
    server = await asyncio.start_unix_server(serve, os.path.relpath(path))
    async with server:
        yield


class TestFiles:
    def test_an_identity_file_is_read_and_a_missing_or_damaged_identity_file_gives_none(
        self, folders: Folders
    ) -> None:
        assert folders.runners.read_note(SESSION) is None
        folders.write_note(SESSION, epoch=3)
        note = folders.runners.read_note(SESSION)
        assert (note.runner, note.epoch) == (os.getpid(), 3)
        folders.write(SESSION, runner_folder.IDENTITY, "{")
        assert folders.runners.read_note(SESSION) is None

    def test_a_held_lock_means_a_live_runner(self, folders: Folders) -> None:
        assert not folders.runners.has_live_runner(SESSION)
        folders.write("ses_two", runner_folder.LOCK, "")
        with held_lock(folders, SESSION):
            assert folders.runners.has_live_runner(SESSION)
            assert folders.runners.live_sessions() == [SESSION]
        assert folders.runners.live_sessions() == []

    def test_last_log_lines_returns_the_last_five_lines_of_the_log(self, folders: Folders) -> None:
        assert folders.runners.last_log_lines(SESSION) == ""
        folders.write(SESSION, runner_folder.LOG, "".join(f"{number}\n" for number in range(9)))
        assert folders.runners.last_log_lines(SESSION) == "4\n5\n6\n7\n8"

    def test_the_end_record_completes_a_spool_without_the_end(self, folders: Folders) -> None:
        started, ended = {"kind": "started", "epoch": 1}, {"kind": "exited", "epoch": 1}
        folders.write(SESSION, runner_folder.SPOOL, [started])
        end_record.EndRecord(str(folders.runners.session_folder(SESSION))).write_report(ended)
        kinds = [report["kind"] for report in folders.runners.read_spool(SESSION)]
        assert kinds == ["started", "exited"]
        folders.write(SESSION, runner_folder.SPOOL, [started, ended])
        assert len(folders.runners.read_spool(SESSION)) == 2, "the same end is reported once"
        folders.runners.delete_spool(SESSION)
        assert folders.runners.read_spool(SESSION) == []

    def test_the_end_record_is_read_although_the_spool_is_damaged(self, folders: Folders) -> None:
        folders.write(SESSION, runner_folder.SPOOL, "[{")
        end_record.EndRecord(str(folders.runners.session_folder(SESSION))).write_report({"kind": "exited"})
        assert [report["kind"] for report in folders.runners.read_spool(SESSION)] == ["exited"]


class TestOrphans:
    @pytest.fixture
    def orphan(self, folders: Folders) -> Iterator[processes.Process]:
        """Start a program without a runner whose parent is not this process."""
        script = "sleep 600 >/dev/null 2>&1 & echo $!"
        environment = {**os.environ, "MAESTRO_SESSION_ID": SESSION}
        started = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, check=True)
        process = processes.find_process(int(started.stdout))
        assert process is not None
        yield process
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, 9)

    def test_kill_orphans_kills_the_program_in_the_identity_file(
        self, folders: Folders, orphan: processes.Process
    ) -> None:
        folders.write_note(SESSION, program=orphan.pid, program_started=orphan.started)
        assert folders.runners.kill_orphans(SESSION, epoch=1)
        found = processes.find_process(orphan.pid)
        assert found is None or found.has_ended

    def test_kill_orphans_finds_a_process_without_an_identity_file_by_its_environment(
        self, folders: Folders, orphan: processes.Process
    ) -> None:
        assert folders.runners.kill_orphans(SESSION, epoch=1)
        assert not folders.runners.kill_orphans(SESSION, epoch=1)

    def test_kill_orphans_does_not_kill_the_program_of_a_later_start(
        self, folders: Folders, orphan: processes.Process
    ) -> None:
        folders.write_note(SESSION, program=orphan.pid, program_started=orphan.started, epoch=2)
        assert not folders.runners.kill_orphans(SESSION, epoch=1)
        assert processes.find_process(orphan.pid) is not None

    def test_kill_orphans_does_not_kill_the_server(self, folders: Folders) -> None:
        own = processes.find_process(os.getpid())
        assert own is not None
        folders.write_note(SESSION, program=own.pid, program_started=own.started)
        assert not folders.runners.kill_orphans(SESSION, epoch=1)


class TestRequests:
    async def test_a_request_returns_the_answer_and_skips_other_frames(self, folders: Folders) -> None:
        async with listening_runner(folders, lambda request: {"ok": True, "seen": request["do"]}):
            assert await folders.runners.send_request(SESSION, do="state") == {"ok": True, "seen": "state"}

    async def test_a_refusal_of_the_runner_raises_a_conflict(self, folders: Folders) -> None:
        async with listening_runner(folders, lambda _: {"ok": False, "problem": "The program has ended."}):
            with pytest.raises(errors.Conflict, match="The program has ended"):
                await folders.runners.send_request(SESSION, do="write")

    async def test_a_request_to_a_session_without_a_runner_raises_a_conflict(self, folders: Folders) -> None:
        with pytest.raises(errors.Conflict, match="does not answer"):
            await folders.runners.send_request(SESSION, do="state")

    async def test_write_input_succeeds_when_the_terminal_has_taken_the_whole_input(self, folders: Folders) -> None:
        left = iter([5, 3, 0])
        async with listening_runner(folders, lambda _: {"ok": True, "left": next(left)}):
            assert await folders.runners.write_input(SESSION, b"hello")

    async def test_write_input_fails_if_the_terminal_does_not_take_the_input_in_time(
        self, folders: Folders, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "prompt_accepted_seconds", 0.05)
        async with listening_runner(folders, lambda _: {"ok": True, "left": 5}):
            assert not await folders.runners.write_input(SESSION, b"hello")
