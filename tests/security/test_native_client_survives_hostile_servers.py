"""Tests that both clients end in time for any bytes from a server, and that the native client has no memory error.

The usual test plays 40 random exchanges. `make test-rounds` plays 1,000.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import maestro
from maestro.client.native import build
from maestro.testing import rounds
from maestro.testing.frames import ClientRequest, FrameServer, ScriptedConnection

pytestmark = pytest.mark.slow

SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g -U_FORTIFY_SOURCE"
PYTHON = "#!/bin/sh\necho became python\nexit 9\n"  # stands in for the Python client
SECONDS_MAX = 20
HUGE = (b"9223372036854775807", b"9223372036854775808", b"4294967292000", b"4294967296000", b"9" * 400, b"9" * 5000)
ODD = (b"", b"-1", b"1x", b" 1", b"+1", b"0x10", b"1.5", "٣".encode())


@dataclass
class Client:
    """A client that runs against a scripted server."""

    program: list[str]
    home: Path

    def run(self, *words: str, sends: bytes, stdin: bytes = b"{}", **env: str) -> subprocess.CompletedProcess[bytes]:
        def script(connection: ScriptedConnection, request: ClientRequest) -> None:
            connection.sock.sendall(sends)

        with FrameServer(self.home / "maestro.sock", script):
            return self.start(*words, stdin=stdin, **env)

    def start(self, *words: str, stdin: bytes = b"{}", **env: str) -> subprocess.CompletedProcess[bytes]:
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "MAESTRO_HOME": str(self.home)}
        own["PYTHONPATH"] = str(Path(maestro.__file__).parents[1])
        own["ASAN_OPTIONS"] = "detect_leaks=0"  # the client ends without freeing memory
        return subprocess.run(
            [*self.program, *words],
            env=own | env,
            input=stdin,
            cwd=self.home,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the native client with the sanitizers of the compiler."""
    program = tmp_path_factory.mktemp("bin") / "maestro"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", SANITIZE)
        command = build.compile_command(program, version="0")
    if command is None:
        pytest.skip("no C compiler on this machine")
    done = subprocess.run(command, capture_output=True, check=False)
    if b"asan" in done.stderr or b"ubsan" in done.stderr:
        pytest.skip("the compiler has no sanitizers on this machine")
    assert done.returncode == 0, done.stderr.decode()
    (program.parent / "maestro-py").write_text(PYTHON)
    (program.parent / "maestro-py").chmod(0o755)
    return program


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="maestro-") as folder:
        yield Path(folder)


@pytest.fixture
def native(sanitized: Path, home: Path) -> Client:
    return Client([str(sanitized)], home)


@pytest.fixture(params=["native", "python"])
def client(request: pytest.FixtureRequest, sanitized: Path, home: Path) -> Client:
    thin = [sys.executable, "-c", "from maestro.client.main import main; main()"]
    return Client([str(sanitized)] if request.param == "native" else thin, home)


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


@pytest.mark.parametrize("hook", [False, True], ids=["command", "hook"])
@pytest.mark.parametrize("given", HUGE, ids=lambda given: given[:20].decode())
def test_a_huge_wait_counts_as_a_long_wait(client: Client, given: bytes, hook: bool) -> None:
    words = ("hook", "claude", "Stop") if hook else ("status",)
    done = client.run(*words, sends=frame(b"W", given) + frame(b"O", b"out") + frame(b"X", b"0"))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"out", b"")


@pytest.mark.parametrize("kind", [b"W", b"X"])
@pytest.mark.parametrize("given", ODD)
def test_a_frame_whose_number_is_malformed_is_not_understood(client: Client, kind: bytes, given: bytes) -> None:
    done = client.run("status", sends=frame(kind, given) + frame(b"X", b"0"))
    assert done.returncode == 1
    assert b"does not understand" in done.stderr


@pytest.mark.parametrize("given", [b"256", b"65536", b"4294967296", b"9" * 400, b"9" * 5000])
def test_a_huge_exit_code_does_not_become_success(client: Client, given: bytes) -> None:
    assert client.run("status", sends=frame(b"X", given)).returncode == 255


def test_a_hook_ends_in_time_although_the_server_asks_it_to_wait(client: Client) -> None:
    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        connection.send_frame(b"W", b"0")
        connection.receive_frame()  # until the client ends

    began = time.monotonic()
    with FrameServer(client.home / "maestro.sock", script):
        done = client.start("hook", "claude", "Stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert 3 < time.monotonic() - began < SECONDS_MAX - 2
    assert b"did not answer in time" in (client.home / "hooks.log").read_bytes()


def test_a_hook_that_is_cut_off_by_the_time_limit_is_stored_completely(client: Client) -> None:
    """Check that the file has the complete payload, although the server stops reading before the time is up."""
    (client.home / "hooks").mkdir()
    payload = b'{"text": "' + b"x" * 900_000 + b'"}'

    def script(connection: ScriptedConnection, request: ClientRequest) -> None:
        connection.send_frame(b"I")
        time.sleep(5.5)  # longer than the hook waits: the server reads nothing of the payload

    with FrameServer(client.home / "maestro.sock", script):
        done = client.start("hook", "claude", "Stop", stdin=payload, MAESTRO_SESSION_ID="ses_x", MAESTRO_TOKEN="t")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    kept = (client.home / "hooks" / "ses_x.claude.Stop").read_bytes()
    assert kept.startswith(b"maestro-hook/1\n") and kept.endswith(b"\nt\n" + payload)


@pytest.mark.rounds
def test_random_frames_cause_no_memory_error(native: Client) -> None:
    played, seed = rounds.round_count(40, full=1000), rounds.round_seed()
    chosen = random.Random(seed)
    for number in range(played):
        sends = b"".join(_some_frame(chosen) for _ in range(chosen.randint(1, 6)))
        if chosen.random() < 0.3:
            sends = sends[: chosen.randint(0, len(sends))]
        hook = chosen.random() < 0.5
        words = ("hook", "claude", "Stop") if hook else ("status", "--json")
        done = native.run(*words, sends=sends)
        told = f"round {number} of seed {seed}: {sends[:400]!r} gave {done.returncode}, {done.stderr!r}"
        assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, told
        assert not hook or (done.returncode, done.stderr) == (0, b""), told
        assert done.returncode >= 0, told
    rounds.report_rounds("hostile frames", played, seed=seed, sanitizer_findings=0)


def _some_frame(chosen: random.Random) -> bytes:
    kind = chosen.choice([*b"OECIFPLWXWX", chosen.randrange(256)])
    payload = chosen.choice(
        [
            lambda: b"",
            lambda: chosen.choice(HUGE),
            lambda: chosen.choice(ODD),
            lambda: b"/" + b"d/" * chosen.randrange(3000),
            lambda: chosen.randbytes(chosen.randrange(300)),
            lambda: b"%s%n" * chosen.randrange(200),
            lambda: b"\0" * chosen.randrange(5000),
            lambda: b"%d" % chosen.randrange(3000),
        ]
    )()
    length = chosen.choice([len(payload)] * 8 + [0, 1, (1 << 20) + 1, (1 << 32) - 1])
    return bytes([kind]) + length.to_bytes(4, "big") + payload
