"""Run both clients as separate processes with a separate home directory."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import maestro
from maestro.client import script
from maestro.client.native import build
from maestro.testing.frames import FrameServer

PATIENCE_SECONDS = 30


@dataclass
class Client:
    """One of the two clients, and the environment in which a test runs the client."""

    kind: str
    program: Path
    home: Path
    env: dict[str, str]
    running: list[subprocess.Popen] = field(default_factory=list)

    @property
    def socket(self) -> Path:
        return Path(self.env.get("MAESTRO_SOCKET") or self.env["MAESTRO_HOME"] + "/maestro.sock")

    def serve(self, script) -> FrameServer:
        return FrameServer(self.socket, script)

    def start(self, *arguments, env=None, **options) -> subprocess.Popen:
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        } | options
        options.setdefault("cwd", self.home)
        process = subprocess.Popen([self.program, *arguments], env=self.env | (env or {}), **options)
        self.running.append(process)
        return process

    def run(self, *arguments, input=None, **options) -> subprocess.CompletedProcess:
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*arguments, **options)
        out, err = process.communicate(input, timeout=PATIENCE_SECONDS)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def close(self) -> None:
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()


@pytest.fixture(scope="session")
def programs(tmp_path_factory) -> dict[str, Path]:
    """Return the paths of both clients in one directory, as an installation places them."""
    directory = tmp_path_factory.mktemp("bin")
    python = directory / "maestro-py"
    python.write_text(Path(script.__file__).read_text().replace("#!python", f"#!{sys.executable}", 1))
    python.chmod(0o755)
    (directory / "python").symlink_to(sys.executable)
    found = {"python": python}
    if build.find_compiler():
        found["native"] = directory / "maestro"
        assert build.compile_client(found["native"], version=maestro.__version__)
    return found


@pytest.fixture
def home():
    """Return a new directory with a short path. The usual temporary paths can be too long for a socket address."""
    directory = Path(tempfile.mkdtemp(prefix="maestro-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)  # a server that was told to stop removes files at the same time


@pytest.fixture
def make_client(programs, home):
    made = []

    def make(kind: str) -> Client:
        if kind not in programs:
            pytest.skip("no C compiler on this machine")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "MAESTRO_HOME": str(home),
            "PYTHONPATH": str(Path(maestro.__file__).parents[1]),
        }
        made.append(Client(kind, programs[kind], home, env))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture(params=["python", "native"])
def client(request, make_client) -> Client:
    return make_client(request.param)
