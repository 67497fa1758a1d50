"""The `maestro` command: send the arguments to the server and relay its answer (docs/frames.md).

Agents run this command at every turn. The module therefore imports only `_socket` and modules that a bare interpreter
has already loaded. The code for all cases beyond a plain exchange (no server, local commands, failures) is imported
when needed.
"""

# The module must not import pathlib:
# ruff: noqa: PTH109, PTH111

import _socket
import os
import sys

from maestro import __version__
from maestro.wire import frames

CHUNK_BYTES = 1 << 16
SOCKET_NAME_BYTES_MAX = 103  # a socket address holds this many bytes on every supported system
SENT_VARIABLES = {b"NO_COLOR", b"FORCE_COLOR", b"TERM", b"LANG", b"LC_ALL", b"CLAUDECODE"}

WAIT_MILLISECONDS_MAX, EXIT_CODE_MAX = 7 * 24 * 3600 * 1000, 255
ANSWER_CUT_OFF = "the server ended the connection before the answer was complete"
FRAME_TOO_LARGE = "the server sent a frame longer than 1 MiB; compare the versions: maestro doctor"
UNKNOWN_FRAME = "the server sent a frame that this client does not understand; compare the versions: maestro doctor"

# After this time without a frame the client loads `select`, to notice when the reader of the output goes away.
SILENCE_SECONDS = 0.2


class CommandEnded(Exception):
    """The command ends with this exit code and error message."""

    def __init__(self, code: int, message: str = "") -> None:
        self.code = code
        self.message = message


class LostBeforeAnswer(Exception):
    """The server went away before its first frame: somebody killed the server, or it has carried out the command."""


class LostWhileWaiting(Exception):
    """The server went away while this command only waited: the client may repeat the request."""

    def __init__(self, until: float) -> None:
        self.until = until  # wall time, which stays valid in another process


def main() -> None:
    """Run the command; never return."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv and "-h" not in sys.argv:
        if sys.argv[2:3] == ["--patient"]:
            from maestro.client import patient_hook

            patient_hook.answer_patiently(["hook", *sys.argv[3:]])
        from maestro.client import hook

        hook.answer_hook(sys.argv[1:])
    try:
        code = run_command(sys.argv[1:])
    except KeyboardInterrupt:
        from maestro.wire import exit_codes

        raise SystemExit(exit_codes.INTERRUPTED) from None
    except CommandEnded as ended:
        if ended.message:
            write_all(2, os.fsencode(f"maestro: {ended.message}\n"))
        code = ended.code
    # All output went straight to the descriptors: the interpreter has no buffers to flush.
    os._exit(code)


def run_command(arguments: list[str]) -> int:
    """Send the command to the server, and return the exit code."""
    path = socket_path()
    if read_variable("MAESTRO_SILENCE"):  # the native client lost the server before its first frame
        from maestro.client import local_commands

        return local_commands.run_after_silence(arguments)
    if until := read_variable("MAESTRO_WAIT_UNTIL"):  # the native client lost the server while the command waited
        from maestro.client import wait_again

        return wait_again.repeat_request(arguments, path, until=int(until) / 1000)
    if handed := read_variable("MAESTRO_LOCAL"):  # the server left the rest of the command to the native client
        from maestro.client import local_commands

        raise SystemExit(local_commands.show_handed_view(os.fsencode(handed)))
    sock = problem = None
    try:
        # If both are set, MAESTRO_SOCKET is the shorter way to the server at MAESTRO_SERVER_URL.
        if read_variable("MAESTRO_SOCKET") or not read_variable("MAESTRO_SERVER_URL"):
            sock = connect_to_server(path)
    except OSError as error:
        problem = error
    if sock is None:
        from maestro.client import local_commands

        sock = local_commands.connect_without_server(arguments, path=path, problem=problem)
    exchange = FrameExchange(sock)
    try:
        code = exchange.relay_answer(request_payload(arguments))
    except LostWhileWaiting as lost:
        from maestro.client import wait_again

        return wait_again.repeat_request(arguments, path, until=lost.until)
    except LostBeforeAnswer:
        from maestro.client import local_commands

        return local_commands.run_after_silence(arguments)
    if code is None:
        from maestro.client import local_commands

        if exchange.handed_over:
            raise SystemExit(local_commands.show_handed_view(exchange.handed_over))
        raise SystemExit(local_commands.run_local_command(arguments))
    return code


def read_variable(name: str) -> str:
    return os.environ.get(name, "")


def data_directory() -> str:
    """Return the data directory."""
    if chosen := read_variable("MAESTRO_HOME"):
        return chosen
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/maestro")
    shared = read_variable("XDG_DATA_HOME")
    return (shared if shared.startswith("/") else os.path.expanduser("~/.local/share")) + "/maestro"


def socket_path() -> str:
    return read_variable("MAESTRO_SOCKET") or data_directory() + "/maestro.sock"


def connect_to_server(path: str) -> _socket.socket:
    """Connect to the server at `path`; raise OSError if no server listens."""
    name = os.fsencode(path)
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    while sock.fileno() <= 2:
        # A standard descriptor is closed: the connection must not take its number.
        sock.detach()
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if len(name) <= SOCKET_NAME_BYTES_MAX:
            sock.connect(name)
        else:
            from maestro.client import long_socket_path

            long_socket_path.connect_by_bare_name(sock, name)
    except BaseException:
        sock.close()
        raise
    return sock


def request_payload(arguments: list[str]) -> bytes:
    """Return the payload of the first frame: client, version, terminals, directory, variables and arguments."""
    try:
        directory = os.getcwdb()
    except OSError:
        directory = b"-"
    terminals = b"".join(b"1" if os.isatty(fd) else b"0" for fd in (0, 1, 2))
    fields = [b"python", __version__.encode(), terminals, terminal_columns(), directory]
    for name, value in os.environb.items():
        if name.startswith(b"MAESTRO_") or name in SENT_VARIABLES:
            fields.append(name + b"=" + value)
    payload = frames.pack_request(fields, [os.fsencode(argument) for argument in arguments])
    if len(payload) > frames.PAYLOAD_BYTES_MAX:
        from maestro.wire import exit_codes

        raise CommandEnded(
            exit_codes.USAGE, "the arguments are longer than 1 MiB; pass long text in a file or on standard input"
        )
    return payload


def terminal_columns() -> bytes:
    """Return the terminal's width; 0 if unknown."""
    wanted = os.environb.get(b"COLUMNS", b"")
    if wanted.isdigit():
        return wanted
    for fd in (1, 2):
        try:
            return b"%d" % os.get_terminal_size(fd).columns
        except OSError:
            pass
    return b"0"


def parse_number(payload: bytes, *, most: int) -> int:
    """Return a decimal number, at most `most`. The server may send any count of digits."""
    return min(int(payload.lstrip(b"0")[:10] or b"0"), most)


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, also to a descriptor that takes only a few at a time."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            import select

            select.select([], [fd], [])
        except OSError as error:
            if fd == 2:
                return  # drop diagnostics that cannot be shown
            from maestro.wire import exit_codes

            if isinstance(error, BrokenPipeError):
                raise CommandEnded(exit_codes.CLOSED_PIPE) from None
            raise CommandEnded(exit_codes.FAILED, f"cannot write the output: {error.strerror}") from None


class FrameExchange:
    """One request and its answer. The client goes on reading while it sends the files that the server asks for."""

    def __init__(self, sock: _socket.socket) -> None:
        self.sock = sock
        self.inbox = b""
        self.outbox = b""
        self.upload = -1  # the descriptor whose content is sent to the server; -1 if none
        self.upload_name = ""
        self.announced_file = -1  # an open file whose real path the server knows, and whose content it may ask for
        self.watches_reader = True
        self.is_answered = False
        self.handed_over = b""  # the facts with which the server leaves the rest of the command to the client
        self.waits_until: float | None = None  # set while the server does nothing but wait

    def relay_answer(self, payload: bytes) -> int | None:
        """Send the request and relay the answer. Return the exit code; None if the client must run the command."""
        self.send_frame(frames.REQUEST, payload)
        self.sock.settimeout(SILENCE_SECONDS)
        while True:
            kind, payload = self.next_frame()
            self.is_answered = True
            if kind == frames.OUT:
                self.waits_until = None
                self.write_output(payload)
            elif kind == frames.ERR:
                self.write_error(payload)
            elif kind == frames.CONFIRM:
                self.send_frame(frames.CONFIRMED)
            elif kind == frames.WAITING and payload.isdigit():
                self.note_wait(parse_number(payload, most=WAIT_MILLISECONDS_MAX))
            elif kind == frames.STDIN:
                self.upload, self.upload_name = 0, "standard input"
            elif kind == frames.OPEN or (kind == frames.FILE and not payload):
                from maestro.client import real_paths

                real_paths.answer_frame(self, kind, payload)
            elif kind == frames.FILE:
                self.open_upload(payload)
            elif kind == frames.EXIT and payload.isdigit():
                return parse_number(payload, most=EXIT_CODE_MAX)
            elif kind == frames.LOCAL:
                self.sock.close()
                self.handed_over = payload
                return None
            else:
                from maestro.wire import exit_codes

                raise CommandEnded(exit_codes.FAILED, UNKNOWN_FRAME)

    def write_output(self, data: bytes) -> None:
        write_all(1, data)

    def write_error(self, text: bytes) -> None:
        write_all(2, text)

    def note_wait(self, milliseconds: int) -> None:
        """Note that the server only waits from now on, at most for this time."""
        import time

        self.waits_until = time.time() + milliseconds / 1000

    def next_frame(self) -> tuple[bytes, bytes]:
        head = self.read_bytes(frames.HEAD_BYTES)
        try:
            return head[:1], self.read_bytes(frames.payload_bytes(head))
        except frames.FrameTooLarge:
            from maestro.wire import exit_codes

            raise CommandEnded(exit_codes.FAILED, FRAME_TOO_LARGE) from None

    def read_bytes(self, size: int) -> bytes:
        """Return the next `size` bytes from the server."""
        parts, have = [self.inbox], len(self.inbox)
        while have < size:
            parts.append(self.receive_bytes())
            have += len(parts[-1])
        data = b"".join(parts)
        self.inbox = data[size:]
        return data[:size]

    def receive_bytes(self) -> bytes:
        """Return the next bytes from the server, as many as come at once."""
        try:
            if self.outbox or self.upload >= 0:
                self.wait_for_server()
            data = self.sock.recv(CHUNK_BYTES)
        except TimeoutError:
            self.wait_for_server(is_long=True)
            return self.receive_bytes()
        except ConnectionError:
            data = b""
        if not data and self.waits_until is not None:
            raise LostWhileWaiting(self.waits_until)
        if not data and not self.is_answered:
            raise LostBeforeAnswer
        if not data:
            from maestro.wire import exit_codes

            raise CommandEnded(exit_codes.NO_SERVER, ANSWER_CUT_OFF)
        return data

    def wait_for_server(self, *, is_long: bool = False) -> None:
        """Send the outbox and the input until the server sends bytes. `is_long`: the server is silent for a while."""
        import select

        server = self.sock.fileno()
        while self.outbox or self.upload >= 0 or is_long:
            poll = select.poll()
            poll.register(server, select.POLLIN | (select.POLLOUT if self.outbox else 0))
            if self.upload >= 0 and not self.outbox:
                poll.register(self.upload, select.POLLIN)
            if is_long and self.watches_reader:
                poll.register(1, 0)
            ready = dict(poll.poll())
            if self.upload in ready:
                self.send_next_chunk()
            if 1 in ready:
                self.check_reader(ready[1] & (select.POLLERR | select.POLLHUP))
            if ready.get(server, 0) & select.POLLOUT:
                self.flush_outbox()
            if ready.get(server, 0) & ~select.POLLOUT:
                return

    def check_reader(self, gone_events: int) -> None:
        if gone_events:
            from maestro.wire import exit_codes

            raise CommandEnded(exit_codes.CLOSED_PIPE)
        self.watches_reader = False  # macOS cannot watch every kind of device, and reports that at once

    def open_upload(self, path: bytes) -> None:
        """Begin to send the file that the server asks for."""
        self.upload_name = os.fsdecode(path)
        try:
            self.upload = os.open(path, os.O_RDONLY)
        except (OSError, ValueError) as error:
            self.refuse_upload(error)

    def send_next_chunk(self) -> None:
        """Send the next chunk of the file or input; an empty chunk marks the end."""
        try:
            data = self.read_upload()
        except BlockingIOError:
            return
        except OSError as error:
            self.refuse_upload(error)
            return
        self.outbox = frames.pack_frame(frames.DATA, data)  # `wait_for_server` sends the chunk
        if not data:
            self.close_upload()

    def read_upload(self) -> bytes:
        return os.read(self.upload, CHUNK_BYTES)

    def refuse_upload(self, error: Exception) -> None:
        self.close_upload()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        self.send_frame(frames.NEGATIVE, os.fsencode(f"{reason}: {self.upload_name}"))

    def close_upload(self) -> None:
        if self.upload > 2:
            os.close(self.upload)
        self.upload = -1

    def send_frame(self, kind: bytes, payload: bytes = b"") -> None:
        self.outbox += frames.pack_frame(kind, payload)
        self.flush_outbox()

    def flush_outbox(self) -> None:
        try:
            self.outbox = self.outbox[self.sock.send(self.outbox) :]
        except TimeoutError:
            pass  # the server does not read now: `wait_for_server` sends the rest
        except OSError:
            # The server reads no more. The frames that it sent before are still to be read.
            self.outbox = b""
            self.close_upload()
