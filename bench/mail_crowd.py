"""Five thousand agents that wait for mail over Unix sockets: their memory, and the time until all have an answer."""

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
    """Measure the memory of the server while all agents wait, then a broadcast of each priority."""
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
    """Let a few agents wait and get mail, so that memory which is used once does not count for the agents."""
    with _Crowd(live, tokens) as few:
        for number in range(len(tokens)):
            few.command("mail", "send", f"worker-{number}", *_LETTER)
        few.until_all_answered()


def _memory(before: int, grown: int) -> Figure:
    what = f"memory of the server for each of {CROWD:,} agents that wait"
    note = f"{before / 1024:.0f} MB before, {grown / 1024:.0f} MB more"
    return Figure(what, grown / CROWD, at_most=25, unit=" KB", note=note)


def _raise_file_limit() -> None:
    """Raise the limit of open files for this process and for the server, which inherits the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CROWD + 1_000
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))


def _woken(urgency: str, answered: float, ended: float) -> Figure:
    what = f"all {CROWD:,} woken by one {urgency} broadcast"
    note = f"the last answer; {ended:.2f} s until the last had confirmed it and was let go"
    return Figure(what, answered, at_most=3, unit=" s", note=note)


async def _settle_in(home: Path) -> list[str]:
    """Create a project with sessions, and return the tokens of the sessions."""
    server = Server(home)
    place = await server.call(projects.INIT, projects.InitProject(path=str(home), name="bench"), caller=ME)
    made = await register(server, place.project.id, CROWD)
    tokens = [server.secrets.session_token(session_id) for session_id in made]
    await server.close()
    return tokens


class _Crowd:
    """Clients that wait, each on its own connection, and clients for commands of the person."""

    def __init__(self, live: LiveServer, tokens: Iterable[str]) -> None:
        self._live = live
        self._tokens = list(tokens)
        self._selector = selectors.DefaultSelector()
        self._clients: list[_Client] = []
        self._open = 0

    def __enter__(self) -> _Crowd:
        """Start all waits, and return when the server is quiet: then all clients wait."""
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
        """Start a command of the person."""
        self._begin(self._live.token, words)

    def _begin(self, token: str, words: Iterable[str]) -> _Client:
        client = _Client(self._live.home, token, words)
        self._selector.register(client.socket, selectors.EVENT_READ, client)
        self._open += 1
        return client

    def woken_by(self, urgency: str) -> tuple[float, float]:
        """Return the seconds from a broadcast until every client has its answer, and until every client has ended."""
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
    """A client of a command with the minimum that docs/frames.md requires."""

    def __init__(self, home: Path, token: str, words: Iterable[str]) -> None:
        self.answered = 0.0
        self.code: bytes | None = None
        self._buffer = b""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(home / SOCKET))
        fields = (frames.PROTOCOL, "native", "bench", "000", "0", str(home), f"MAESTRO_TOKEN={token}", "", *words)
        self.socket.sendall(frames.pack_frame(frames.REQUEST, b"".join(field.encode() + b"\0" for field in fields)))

    def take_in(self) -> bool:
        """Read frames of the server, and return whether more frames can follow."""
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
