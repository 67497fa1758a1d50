"""A real server process with its own data directory, and the real command against it."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from maestro.store.layout import SERVER, TOKEN
from maestro.testing.supervised import is_running, process_identity, wait_until
from maestro.wire import runner_folder

PYTHON_CLIENT = (sys.executable, "-c", "from maestro.client.main import main; main()")
_START_SECONDS_MAX = 30.0
_STOP_SECONDS_MAX = 30.0


class LiveServer:
    """Starts, kills and restarts a server. The data directory stays."""

    module = "maestro.server"

    def __init__(
        self, home: Path, environment: Mapping[str, str] | None = None, *, files_max: int | None = None
    ) -> None:
        """Prepare a server that may open at most `files_max` files."""
        self.home = home
        self._files_max = files_max
        self.log = home / "server.log"
        self._own = dict(environment or {})
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, port: int = 0) -> LiveServer:
        """Start the server and wait for its answer. Port 0 chooses a free port."""
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        reading, writing = os.pipe()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, "--home", str(self.home), "--port", str(port)],
                env=self.environment(MAESTRO_READY_FD=str(writing)),
                pass_fds=(writing,),
                preexec_fn=self._limit_files if self._files_max else None,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            ready, _, _ = select.select([pipe], [], [], _START_SECONDS_MAX)
            line = pipe.readline() if ready else "no answer in time"
            if line.startswith("pid "):  # a supervisor first writes the pid
                line = pipe.readline()
        if line != "ready\n":
            raise RuntimeError(f"the server did not start: {line}{self.log.read_text()[-2000:]}")
        return self

    def _limit_files(self) -> None:
        assert self._files_max is not None
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._files_max, self._files_max))

    def kill(self) -> None:
        """Kill the server without a chance to clean up."""
        self._signal_and_wait(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the server in order."""
        self._signal_and_wait(signal.SIGTERM)

    def _signal_and_wait(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(_STOP_SECONDS_MAX)

    @property
    def url(self) -> str:
        note: dict[str, str] = msgspec.json.decode((self.home / SERVER).read_bytes())
        return note["url"]

    @property
    def token(self) -> str:
        """Return the person's token."""
        return (self.home / TOKEN).read_text().strip()

    def environment(self, **extra: str) -> dict[str, str]:
        """Return the environment of this process without the variables of another Maestro."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MAESTRO_")}
        return kept | self._own | {"MAESTRO_HOME": str(self.home)} | extra

    def remove_variable(self, name: str) -> None:
        """Remove a variable from the server's environment, from the next start on."""
        self._own.pop(name, None)

    def run_command(
        self,
        *arguments: str,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        timeout: float = 60,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the `maestro` command to its end."""
        return subprocess.run(
            [*PYTHON_CLIENT, *arguments],
            cwd=cwd or self.home,
            env=self.environment(**(env or {})),
            input=stdin,
            capture_output=True,
            timeout=timeout,
            check=False,
        )

    def start_command(
        self,
        *arguments: str,
        program: Sequence[str] = (),
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        stdout: int | IO[bytes] = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        """Start the `maestro` command or another client, and do not wait. The caller must end the process."""
        return subprocess.Popen(
            [*(program or PYTHON_CLIENT), *arguments],
            cwd=cwd or self.home,
            env=self.environment(**(env or {})),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> LiveServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self._signal_and_wait(signal.SIGKILL)


class SupervisedServer(LiveServer):
    """A server with a supervisor, like the server that `maestro up` starts."""

    module = "maestro.supervisor"

    @property
    def pid(self) -> int:
        """Return the pid of the server."""
        note: dict[str, int] = msgspec.json.decode((self.home / SERVER).read_bytes())
        return note["pid"]

    def kill(self) -> None:
        """Kill the server and wait for the end of its process. Its supervisor starts another server.

        Until its end, a killed server still accepts connections, and cuts them off without an answer.
        """
        killed = process_identity(self.pid)
        os.kill(killed[0], signal.SIGKILL)
        wait_until(lambda: not is_running(killed), what="the end of the killed server")

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(_STOP_SECONDS_MAX if not self._has_agents() else 1)
        except subprocess.TimeoutExpired:  # the supervisor waits for adopted processes
            self.process.kill()
            self.process.wait()

    def _has_agents(self) -> bool:
        return any((self.home / runner_folder.SESSIONS).glob(f"*/{runner_folder.IDENTITY}"))
