"""`maestro hook TOOL EVENT`: get the server's answer to a program's hook, or let the program go on without an answer.

A hook that no server got is stored for the next server (`hook_spool`). Problems go to a log for `maestro doctor`,
never to the program: a program may read an exit code as a verdict, and text on standard error as an objection. The
module imports as little as `main`, because a hook runs twice with every tool call of an agent.
"""

import _signal  # type: ignore[import-not-found]  # `signal` would load `enum`
import os

from maestro.client import main
from maestro.wire import exit_codes

# The longest time that a hook delays an agent. When the server waits for a person, it sends its own time limit.
SECONDS = 4
LOG_BYTES_MAX = 1 << 18
LOG = "hooks.log"
EXIT_GIVEN_UP = 75  # the exit code for the patient hook, which asks again

_payload_chunks: list[bytes] = []  # the hook's payload, as far as it was read
_has_answer = False  # whether the program has got an answer, or a part of one


class HookExchange(main.FrameExchange):
    """An exchange that prints only the answer for the program, no errors."""

    problem = b""

    def write_error(self, text: bytes) -> None:
        self.problem = text[:400]

    def write_output(self, data: bytes) -> None:
        global _has_answer
        _has_answer = True
        super().write_output(data)

    def read_upload(self) -> bytes:
        data = super().read_upload()
        _payload_chunks.append(data)
        return data

    def note_wait(self, milliseconds: int) -> None:
        _signal.alarm(SECONDS + milliseconds // 1000)


def answer_hook(arguments: list[str], *, give_up_code: int = 0) -> None:
    """Answer the hook; never return. `give_up_code` is the exit code without an answer: 0 for a program."""

    def give_up_late(*_: object) -> None:
        log_and_exit(arguments, "the server did not answer in time", give_up_code, is_late_hook=True)

    problem, is_late = "", True
    path = main.socket_path()
    try:
        _signal.signal(_signal.SIGALRM, give_up_late)
        _signal.alarm(SECONDS)
        if main.read_variable("MAESTRO_SERVER_URL") and not main.read_variable("MAESTRO_SOCKET"):
            log_and_exit(arguments, "the server runs on another machine: use hooks over HTTP", give_up_code)
        exchange = HookExchange(main.connect_to_server(path))
        if exchange.relay_answer(main.request_payload(arguments)) != 0:
            problem = exchange.problem.decode(errors="replace") or "the server could not answer the hook"
            is_late = False
    except OSError as error:
        problem = f"no server answers at {path}: {error.strerror}"
    except (main.LostWhileWaiting, main.LostBeforeAnswer):
        problem = main.ANSWER_CUT_OFF
    except main.CommandEnded as ended:
        problem = ended.message  # empty if the program has closed its end of the pipe
        is_late = ended.code == exit_codes.NO_SERVER
    except KeyboardInterrupt:
        pass
    if problem:
        log_and_exit(arguments, problem, give_up_code, is_late_hook=is_late)
    os._exit(0)


def log_and_exit(arguments: list[str], problem: str, code: int, *, is_late_hook: bool = False) -> None:
    """Log why a hook got no answer, and exit with `code`. Never return.

    Store a hook that no server got, unless the caller asks again. A failure to store or log must not delay the agent.
    """
    import time

    _signal.alarm(0)
    if is_late_hook and not _has_answer and code != EXIT_GIVEN_UP and len(arguments) > 2:
        from maestro.client import hook_spool

        hook_spool.store_late_hook(arguments[1], arguments[2], _payload_chunks)

    line = f"{time.time():.0f}\t{' '.join(arguments[1:3])}\t{problem}".replace("\n", " ")[:500] + "\n"
    try:
        descriptor = os.open(f"{main.data_directory()}/{LOG}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if os.fstat(descriptor).st_size > LOG_BYTES_MAX:
            os.ftruncate(descriptor, 0)
        os.write(descriptor, line.encode(errors="replace"))
    except OSError:
        pass
    os._exit(code)
