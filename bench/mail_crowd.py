"""Five thousand agents that wait for mail at once, over raw Unix sockets: what they cost, and how soon all are woken."""

from __future__ import annotations

import resource
import selectors
import socket
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import uvloop

from bench.mail_store import register
from bench.report import Figure
from bench.store import ME
from maestro.operations import projects
from maestro.server.app import Server
from maestro.store.layout import SOCKET
from maestro.testing.live import LiveServer
from maestro.wire import frames

CROWD = 5_000
_WARM = 100
_PATIENCE_SECONDS = 60.0
_WAIT = ("mail", "wait", "--timeout", "30m")
_LETTER = ("--project", "bench", "--subject", "Freeze", "--message", "No more pushes.")


def figures() -> list[Figure]:
    """Memory first: what the server has grown by while all of them wait. Then one broadcast of each urgency."""
    _raise_file_limit()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        home = Path(folder) / "data"
        home.mkdir()
        tokens = uvloop.run(_settle_in(home))
        with LiveServer(home) as live:
            _warm_up(live, tokens[:_WARM])
            before = _resident_kb(live)
            with _Crowd(live, tokens) as crowd:
                grown = _resident_kb(live) - before
                normal = crowd.woken_by("normal")
            with _Crowd(live, tokens) as crowd:
                critical = crowd.woken_by("critical")
    return [_memory(before, grown), _woken("normal", *normal), _woken("critical", *critical)]


def _warm_up(live: LiveServer, tokens: list[str]) -> None:
    """A few wait and are written to: what is loaded and remembered once for all is nobody's own cost."""
    with _Crowd(live, tokens) as few:
        for number in range(len(tokens)):
            few.command("mail", "send", f"worker-{number}", *_LETTER)
        few.until_all_answered()


def _memory(before: int, grown: int) -> Figure:
    what = f"memory of the server for each of {CROWD:,} agents that wait"
    note = f"{before / 1024:.0f} MB before, {grown / 1024:.0f} MB more"
    return Figure(what, grown / CROWD, at_most=25, unit=" KB", note=note)


def _raise_file_limit() -> None:
    """For this process, and for the server, which inherits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CROWD + 1_000
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))


def _woken(urgency: str, answered: float, ended: float) -> Figure:
    what = f"all {CROWD:,} woken by one {urgency} broadcast"
    note = f"the last answer; {ended:.2f} s until the last had confirmed it and was let go"
    return Figure(what, answered, at_most=3, unit=" s", note=note)


async def _settle_in(home: Path) -> list[str]:
    """A project with so many sessions; their tokens."""
    server = Server(home)
    place = await server.call(projects.INIT, projects.InitProject(path=str(home), name="bench"), caller=ME)
    made = await register(server, place.project.id, CROWD)
    tokens = [server.secrets.session_token(session_id) for session_id in made]
    await server.close()
    return tokens


class _Crowd:
    """Clients that wait, each on a connection of its own, and one more that speaks for the person."""

    def __init__(self, live: LiveServer, tokens: Iterable[str]) -> None:
        self._live = live
        self._tokens = list(tokens)
        self._selector = selectors.DefaultSelector()
        self._clients: list[_Client] = []
        self._open = 0

    def __enter__(self) -> _Crowd:
        """All have asked, and the server has come to rest: they wait."""
        for token in self._tokens:
            self._clients.append(self._begin(token, _WAIT))
        cpu, quiet_since = -1.0, time.monotonic()
        while time.monotonic() - quiet_since < 0.5:
            self._take_in(0.1)
            if cpu != (cpu := _cpu_seconds(self._live)):
                quiet_since = time.monotonic()
        assert not any(client.answered or client.code is not None for client in self._clients)
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.socket.close()
        self._selector.close()

    def command(self, *words: str) -> None:
        """The person's own command, on its way."""
        self._begin(self._live.token, words)

    def _begin(self, token: str, words: Iterable[str]) -> _Client:
        client = _Client(self._live.home, token, words)
        self._selector.register(client.socket, selectors.EVENT_READ, client)
        self._open += 1
        return client

    def woken_by(self, urgency: str) -> tuple[float, float]:
        """Seconds from a broadcast's request until everyone has its answer, and until everyone has ended."""
        began = time.perf_counter()
        self.command("mail", "broadcast", "--scope", "all", "--priority", urgency, *_LETTER)
        self.until_all_answered()
        answered = max(client.answered for client in self._clients)
        return answered - began, time.perf_counter() - began

    def until_all_answered(self) -> None:
        give_up = time.monotonic() + _PATIENCE_SECONDS
        while self._open:
            assert time.monotonic() < give_up, "some were not woken"
            self._take_in(1.0)
        assert all(client.code == b"0" and client.answered for client in self._clients)

    def _take_in(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            if not key.data.take_in():
                self._selector.unregister(key.fileobj)
                self._open -= 1


class _Client:
    """One command's client, with as little as docs/frames.md asks of it."""

    def __init__(self, home: Path, token: str, words: Iterable[str]) -> None:
        self.answered = 0.0
        self.code: bytes | None = None
        self._buffer = b""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(home / SOCKET))
        fields = (frames.PROTOCOL, "native", "bench", "000", "0", str(home), f"MAESTRO_TOKEN={token}", "", *words)
        self.socket.sendall(frames.pack_frame(frames.REQUEST, b"".join(field.encode() + b"\0" for field in fields)))

    def take_in(self) -> bool:
        """What the server says; whether it may say more."""
        self._buffer += self.socket.recv(1 << 16)
        while len(self._buffer) >= 5 and self.code is None:
            end = 5 + int.from_bytes(self._buffer[1:5], "big")
            if len(self._buffer) < end:
                return True
            self._frame(self._buffer[:1], self._buffer[5:end])
            self._buffer = self._buffer[end:]
        return self.code is None

    def _frame(self, kind: bytes, payload: bytes) -> None:
        if kind == frames.OUT:
            self.answered = time.perf_counter()
        elif kind == frames.CONFIRM:
            self.socket.sendall(frames.pack_frame(frames.CONFIRMED))
        elif kind == frames.EXIT:
            self.code = payload


def _resident_kb(live: LiveServer) -> int:
    assert live.process is not None
    lines = Path(f"/proc/{live.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _cpu_seconds(live: LiveServer) -> float:
    assert live.process is not None
    fields = Path(f"/proc/{live.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return float(fields[11]) + float(fields[12])
