"""The `maestro` command: hands its arguments to the server and relays the answer (docs/frames.md).

Agents run this at every turn, so it imports nothing that a bare interpreter has not already loaded, but
`_socket`. What goes beyond a plain exchange (no server, local commands) is in `local`, loaded when needed.
"""

# pathlib would be such an import:
# ruff: noqa: PTH109, PTH111

import _socket
import os
import sys

from maestro import __version__

PROTOCOL = b"maestro/2"
PAYLOAD_BYTES_MAX = 1 << 20
CHUNK_BYTES = 1 << 16
SOCKET_NAME_BYTES_MAX = 103  # what a socket address holds on every system we run on
SENT_VARIABLES = {b"NO_COLOR", b"FORCE_COLOR", b"TERM", b"LANG", b"LC_ALL", b"CLAUDECODE"}

FAILED, USAGE, NOT_PERMITTED, NO_SERVER, INTERRUPTED, CLOSED_PIPE = 1, 2, 4, 8, 130, 141
WAIT_MILLISECONDS_MAX, EXIT_CODE_MAX = 7 * 24 * 3600 * 1000, 255

ENDED = "the server ended the connection before the answer was complete"

# After so long without a frame it is worth loading `select`, to notice that nobody reads the output any more.
PATIENCE_SECONDS = 0.2


class Ended(Exception):
    """The command is over, with this exit code."""

    def __init__(self, code: int, message: str = "") -> None:
        self.code = code
        self.message = message


class Vanished(Exception):
    """The server went away without a word: it was just being killed, or has carried the command out."""


class Lost(Exception):
    """The server went away while this command did nothing but wait: it may be asked again."""

    def __init__(self, until: float) -> None:
        self.until = until  # wall time, which survives becoming another process


def main() -> None:
    """Runs the command; never returns."""
    if sys.argv[1:2] == ["hook"] and "--help" not in sys.argv and "-h" not in sys.argv:
        if sys.argv[2:3] == ["--patient"]:
            from maestro.client import patient

            patient.run(["hook", *sys.argv[3:]])
        from maestro.client import hook

        hook.run(sys.argv[1:])
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except Ended as ended:
        if ended.message:
            put(2, os.fsencode(f"maestro: {ended.message}\n"))
        code = ended.code
    # All output went straight to the descriptors: there is nothing for the interpreter to tidy up.
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Asks the server, wherever it is, and gives the exit code."""
    path = socket_path()
    if setting("MAESTRO_SILENCE"):  # what the native client met before it became this one
        from maestro.client import local

        return local.after_silence(arguments)
    if until := setting("MAESTRO_WAIT_UNTIL"):
        # The native client lost its server while it waited, and has become this one.
        from maestro.client import waiting

        return waiting.ask_again(arguments, path, until=int(until) / 1000)
    if handed := setting("MAESTRO_LOCAL"):  # what the server left to the native client, which became this one
        from maestro.client import local

        raise SystemExit(local.go_on(os.fsencode(handed)))
    sock = problem = None
    try:
        # A socket named beside a server's URL is the shorter way to the same server.
        if setting("MAESTRO_SOCKET") or not setting("MAESTRO_SERVER_URL"):
            sock = connect(path)
    except OSError as error:
        problem = error
    if sock is None:
        from maestro.client import local

        sock = local.without_server(arguments, path=path, problem=problem)
    exchange = Exchange(sock)
    try:
        code = exchange.run(request(arguments))
    except Lost as lost:
        from maestro.client import waiting

        return waiting.ask_again(arguments, path, until=lost.until)
    except Vanished:
        from maestro.client import local

        return local.after_silence(arguments)
    if code is None:
        from maestro.client import local

        raise SystemExit(local.go_on(exchange.handed) if exchange.handed else local.run(arguments))
    return code


def setting(name: str) -> str:
    return os.environ.get(name, "")


def home() -> str:
    """The data directory."""
    if chosen := setting("MAESTRO_HOME"):
        return chosen
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/maestro")
    shared = setting("XDG_DATA_HOME")
    return (shared if shared.startswith("/") else os.path.expanduser("~/.local/share")) + "/maestro"


def socket_path() -> str:
    return setting("MAESTRO_SOCKET") or home() + "/maestro.sock"


def connect(path: str) -> _socket.socket:
    """A connection to the server at `path`; OSError if there is none."""
    name = os.fsencode(path)
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    while sock.fileno() <= 2:
        # A standard descriptor was closed: what takes its number must not be the connection.
        sock.detach()
        sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if len(name) <= SOCKET_NAME_BYTES_MAX:
            sock.connect(name)
        else:
            connect_from_inside(sock, name)
    except BaseException:
        sock.close()
        raise
    return sock


def connect_from_inside(sock: _socket.socket, path: bytes) -> None:
    """Connects by the bare name from the socket's directory: no socket address holds this path."""
    directory, _, name = path.rpartition(b"/")
    if len(name) > SOCKET_NAME_BYTES_MAX:
        raise OSError(0, f"its name is longer than {SOCKET_NAME_BYTES_MAX} bytes")
    here: int | bytes
    try:
        here = os.open(".", os.O_RDONLY)
    except OSError:
        here = os.getcwdb()  # a directory one may enter but not list
    try:
        os.chdir(directory or b"/")
        sock.connect(name)
    finally:
        os.chdir(here)
        if isinstance(here, int):
            os.close(here)


def request(arguments: list[str]) -> bytes:
    """The first frame's payload: who asks, from where, for what."""
    try:
        directory = os.getcwdb()
    except OSError:
        directory = b"-"
    terminals = b"".join(b"1" if os.isatty(fd) else b"0" for fd in (0, 1, 2))
    fields = [PROTOCOL, b"python", __version__.encode(), terminals, columns(), directory]
    for name, value in os.environb.items():
        if name.startswith(b"MAESTRO_") or name in SENT_VARIABLES:
            fields.append(name + b"=" + value)
    payload = b"\0".join(fields) + b"\0\0" + b"".join(os.fsencode(word) + b"\0" for word in arguments)
    if len(payload) > PAYLOAD_BYTES_MAX:
        raise Ended(USAGE, "the arguments are longer than 1 MiB; long text can come from a file or stdin")
    return payload


def columns() -> bytes:
    """The terminal's width, 0 if unknown."""
    asked = os.environb.get(b"COLUMNS", b"")
    if asked.isdigit():
        return asked
    for fd in (1, 2):
        try:
            return b"%d" % os.get_terminal_size(fd).columns
        except OSError:
            pass
    return b"0"


def frame(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def number(payload: bytes, *, most: int) -> int:
    """Return a decimal number, at most `most`, however many digits a server sends."""
    return min(int(payload.lstrip(b"0")[:10] or b"0"), most)


def put(fd: int, data: bytes) -> None:
    """Writes all of it, however little the descriptor takes at a time."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            import select

            select.select([], [fd], [])
        except OSError as error:
            if fd == 2:
                return  # diagnostics that nobody can see are dropped
            if isinstance(error, BrokenPipeError):
                raise Ended(CLOSED_PIPE) from None
            raise Ended(FAILED, f"cannot write the output: {error.strerror}") from None


class Exchange:
    """One request and its answer: goes on listening while it sends what the server asked for."""

    def __init__(self, sock: _socket.socket) -> None:
        self.sock = sock
        self.inbox = b""
        self.outbox = b""
        self.source = -1  # the descriptor that is being sent up, if any
        self.source_name = ""
        self.opened = -1  # a file that the server knows by its real path, and may ask for
        self.watches_reader = True
        self.is_answered = False
        self.handed = b""  # what the server left to this side, after its own part was done
        self.waits_until: float | None = None  # while the server has nothing to do but wait

    def run(self, payload: bytes) -> int | None:
        """The exit code; None if the command must run on this side."""
        self.send(b"R", payload)
        self.sock.settimeout(PATIENCE_SECONDS)
        while True:
            kind, payload = self.next_frame()
            self.is_answered = True
            if kind == b"O":
                self.waits_until = None
                self.put_out(payload)
            elif kind == b"E":
                self.complain(payload)
            elif kind == b"C":
                self.send(b"C")
            elif kind == b"W" and payload.isdigit():
                self.wait_for(number(payload, most=WAIT_MILLISECONDS_MAX))
            elif kind == b"I":
                self.source, self.source_name = 0, "standard input"
            elif kind == b"P" or (kind == b"F" and not payload):
                from maestro.client import opened

                opened.answer(self, kind, payload)
            elif kind == b"F":
                self.open(payload)
            elif kind == b"X" and payload.isdigit():
                return number(payload, most=EXIT_CODE_MAX)
            elif kind == b"L":
                self.sock.close()
                self.handed = payload
                return None
            else:
                raise Ended(FAILED, "the server sent something that this client does not understand")

    def put_out(self, data: bytes) -> None:
        put(1, data)

    def complain(self, text: bytes) -> None:
        put(2, text)

    def wait_for(self, milliseconds: int) -> None:
        """From here on the server only waits."""
        import time

        self.waits_until = time.time() + milliseconds / 1000

    def next_frame(self) -> tuple[bytes, bytes]:
        head = self.take(5)
        size = int.from_bytes(head[1:], "big")
        if size > PAYLOAD_BYTES_MAX:
            raise Ended(FAILED, "the server sent a frame that is too long")
        return head[:1], self.take(size)

    def take(self, size: int) -> bytes:
        """The next `size` bytes from the server."""
        parts, have = [self.inbox], len(self.inbox)
        while have < size:
            parts.append(self.receive())
            have += len(parts[-1])
        data = b"".join(parts)
        self.inbox = data[size:]
        return data[:size]

    def receive(self) -> bytes:
        """Some more from the server."""
        try:
            if self.outbox or self.source >= 0:
                self.wait()
            data = self.sock.recv(CHUNK_BYTES)
        except TimeoutError:
            self.wait(long=True)
            return self.receive()
        except ConnectionError:
            data = b""
        if not data and self.waits_until is not None:
            raise Lost(self.waits_until)
        if not data and not self.is_answered:
            raise Vanished
        if not data:
            raise Ended(NO_SERVER, ENDED)
        return data

    def wait(self, *, long: bool = False) -> None:
        """Sends what is to be sent, until the server speaks. `long`: it has been silent for a while."""
        import select

        server = self.sock.fileno()
        while self.outbox or self.source >= 0 or long:
            poll = select.poll()
            poll.register(server, select.POLLIN | (select.POLLOUT if self.outbox else 0))
            if self.source >= 0 and not self.outbox:
                poll.register(self.source, select.POLLIN)
            if long and self.watches_reader:
                poll.register(1, 0)
            ready = dict(poll.poll())
            if self.source in ready:
                self.pass_on()
            if 1 in ready:
                self.reader_changed(ready[1] & (select.POLLERR | select.POLLHUP))
            if ready.get(server, 0) & select.POLLOUT:
                self.flush()
            if ready.get(server, 0) & ~select.POLLOUT:
                return

    def reader_changed(self, gone: int) -> None:
        if gone:
            raise Ended(CLOSED_PIPE)
        self.watches_reader = False  # macOS cannot watch every kind of device, and says so at once

    def open(self, path: bytes) -> None:
        """Begins to send up the file that the server asked for."""
        self.source_name = os.fsdecode(path)
        try:
            self.source = os.open(path, os.O_RDONLY)
        except (OSError, ValueError) as error:
            self.refuse(error)

    def pass_on(self) -> None:
        """Sends up the next piece of the input; an empty one is its end."""
        try:
            data = self.read_source()
        except BlockingIOError:
            return
        except OSError as error:
            self.refuse(error)
            return
        self.outbox = frame(b"D", data)  # `wait` sends it when the server listens
        if not data:
            self.close_source()

    def read_source(self) -> bytes:
        return os.read(self.source, CHUNK_BYTES)

    def refuse(self, error: Exception) -> None:
        self.close_source()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        self.send(b"N", os.fsencode(f"{reason}: {self.source_name}"))

    def close_source(self) -> None:
        if self.source > 2:
            os.close(self.source)
        self.source = -1

    def send(self, kind: bytes, payload: bytes = b"") -> None:
        self.outbox += frame(kind, payload)
        self.flush()

    def flush(self) -> None:
        try:
            self.outbox = self.outbox[self.sock.send(self.outbox) :]
        except TimeoutError:
            pass  # it does not listen now: `wait` goes on with it
        except OSError:
            # It has stopped listening for good. What it said before that is still to be read.
            self.outbox = b""
            self.close_source()
