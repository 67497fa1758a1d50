"""A follower of a run reads each state from the server, and connects again after the connection is lost."""

from __future__ import annotations

import select
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from maestro.client.live import follow
from maestro.client.live.follow import RunFollower, RunRefused
from maestro.domain.runs import RunStatus, RunStrategy
from maestro.operations.runs import RunView
from maestro.testing.frames import ClientRequest, FrameServer, Script, ScriptedConnection


def make_view(status: RunStatus = RunStatus.RUNNING, title: str = "") -> RunView:
    return RunView(
        id="run_1",
        project_id="prj_1",
        task_id="tsk_1",
        strategy=next(iter(RunStrategy)),
        max_parallel=1,
        attempts_max=1,
        member=None,
        tool="command",
        arguments=["true"],
        worktrees=False,
        directory="/src",
        branch=None,
        status=status,
        note="",
        started_by="dana",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        ended_at=None,
        task="vc#1",
        title=title,
        tasks=[],
        counts={},
    )


def encode(view: RunView) -> bytes:
    return msgspec.json.encode(view) + b"\n"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAESTRO_SOCKET", str(tmp_path / "s.sock"))
    monkeypatch.setattr(follow, "_PAUSE_SECONDS", 0.05)
    return tmp_path / "s.sock"


@pytest.fixture
def follower() -> Iterator[RunFollower]:
    made = RunFollower("run_1")
    yield made
    made.close()


def receive(follower: RunFollower) -> list[RunView]:
    assert select.select([follower], [], [], 10)[0]
    return follower.receive_views()


def sending(*frames_to_send: tuple[bytes, bytes]) -> Script:
    """Return a script that sends frames and waits until the client closes the connection."""

    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        for kind, payload in frames_to_send:
            connection.send_frame(kind, payload)
        connection.receive_frame()

    return script


def test_each_line_is_read_as_a_state_of_the_run_also_when_it_arrives_in_pieces(
    path: Path, follower: RunFollower
) -> None:
    first, second = make_view(title="first"), make_view(RunStatus.COMPLETED, title="second")
    data = encode(first) + encode(second)
    with FrameServer(path, sending((b"O", data[:30]), (b"O", data[30:]))) as server:
        follower.connect_if_due()
        views: list[RunView] = []
        while len(views) < 2:
            views += receive(follower)
        follower.close()
    assert views == [first, second] and follower.view == second
    assert server.requests[0].arguments == [b"run", b"show", b"run_1", b"--follow", b"--json"]


def test_the_follower_raises_a_refusal_before_the_first_state(path: Path, follower: RunFollower) -> None:
    with FrameServer(path, sending((b"E", b"no run run_1\n"), (b"X", b"6"))):
        follower.connect_if_due()
        with pytest.raises(RunRefused) as refused:
            while True:
                receive(follower)
        follower.close()
    assert (refused.value.code, refused.value.message) == (6, "no run run_1")


def test_without_a_server_the_follower_tries_again_after_a_pause(
    path: Path, follower: RunFollower, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr(follow, "time", clock)
    follower.connect_if_due()
    away_since = follower.away_since
    assert follower.fileno() == -1 and away_since == now and follower.pause_seconds == pytest.approx(0.05)
    with FrameServer(path, sending((b"O", encode(make_view())))):
        follower.connect_if_due()
        assert follower.fileno() == -1  # the pause is not over
        clock.monotonic = lambda: now + 0.06
        follower.connect_if_due()
        assert receive(follower) and follower.away_since is None
        follower.close()


def test_the_follower_keeps_the_last_state_when_it_loses_the_server(path: Path, follower: RunFollower) -> None:
    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        connection.send_frame(b"O", encode(make_view(title="last")))

    with FrameServer(path, script):
        follower.connect_if_due()
        assert receive(follower)
        while follower.fileno() >= 0:
            assert receive(follower) == []
    assert follower.view is not None and follower.view.title == "last" and follower.away_since is not None
