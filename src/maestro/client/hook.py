"""`maestro hook TOOL EVENT`: an agent's hook is answered, or the agent goes on without, and soon.

What no server has heard is kept for the next one (`unheard`). Whatever is wrong is noted for `maestro doctor` and
never told: to the agents' programs an exit code may be a verdict, and a word on standard error an objection. As light
as `thin`, for it runs twice with every tool that an agent uses.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`
import os

from maestro.client import thin

# How long an agent is kept from its work; a hook that waits for a person says so, and gets that long.
SECONDS = 4
LOG_BYTES_MAX = 1 << 18
LOG = "hooks.log"
GIVEN_UP = 75  # to whoever asks again

_heard: list[bytes] = []  # what was read of the payload
_has_spoken = False  # whether the agent has an answer, or some of one


class Exchange(thin.Exchange):
    """The same exchange, without a word to anyone but the agent."""

    problem = b""

    def complain(self, text: bytes) -> None:
        self.problem = text[:400]

    def put_out(self, data: bytes) -> None:
        global _has_spoken
        _has_spoken = True
        super().put_out(data)

    def read_source(self) -> bytes:
        data = super().read_source()
        _heard.append(data)
        return data

    def wait_for(self, milliseconds: int) -> None:
        _signal.alarm(SECONDS + milliseconds // 1000)


def run(arguments: list[str], *, given_up: int = 0) -> None:
    """Never returns. `given_up` is the exit code where there was no answer: to a program it must be 0."""

    def too_long(*_: object) -> None:
        give_up(arguments, "the server did not answer in time", given_up, is_unheard=True)

    problem, is_unheard = "", True
    path = thin.socket_path()
    try:
        _signal.signal(_signal.SIGALRM, too_long)
        _signal.alarm(SECONDS)
        if thin.setting("MAESTRO_SERVER_URL") and not thin.setting("MAESTRO_SOCKET"):
            give_up(arguments, "the server is elsewhere: only hooks over HTTP reach it", given_up)
        exchange = Exchange(thin.connect(path))
        if exchange.run(thin.request(arguments)) != 0:
            problem, is_unheard = exchange.problem.decode(errors="replace") or "the server could not answer", False
    except OSError as error:
        problem = f"no server answers at {path}: {error.strerror}"
    except (thin.Lost, thin.Vanished):
        problem = thin.ENDED
    except thin.Ended as ended:
        problem = ended.message  # none if nobody reads the answer any more
        is_unheard = ended.code == thin.NO_SERVER
    except KeyboardInterrupt:
        pass
    if problem:
        give_up(arguments, problem, given_up, is_unheard=is_unheard)
    os._exit(0)


def give_up(arguments: list[str], problem: str, code: int, *, is_unheard: bool = False) -> None:
    """Notes why a hook was not answered, and keeps what nobody heard, unless it is asked again. Not to be able to is
    no reason to hold up an agent. Never returns."""
    import time

    _signal.alarm(0)
    if is_unheard and not _has_spoken and code != GIVEN_UP and len(arguments) > 2:
        from maestro.client import unheard

        unheard.keep(arguments[1], arguments[2], _heard)

    line = f"{time.time():.0f}\t{' '.join(arguments[1:3])}\t{problem}".replace("\n", " ")[:500] + "\n"
    try:
        descriptor = os.open(f"{thin.home()}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if os.fstat(descriptor).st_size > LOG_BYTES_MAX:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, line.encode(errors="replace"))
    except OSError:
        pass
    os._exit(code)
