"""One client on the Unix socket: one connection is one command, and the client's end is the command's end.

Two things run side by side: the command, and a watch that takes in what the client sends. When the client goes
away, or talks nonsense, the command is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import msgspec

from maestro.core import errors, limits
from maestro.surfaces.cli import exit_codes, frames, peers
from maestro.surfaces.cli.channel import Gone, HandOver, wants_color
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.render import style
from maestro.system import memory

first_frame_seconds_max = 10
linger_seconds_max = 5
pending_bytes_max = 64 * 1024
answers_max = 16

log = logging.getLogger(__name__)


async def handle(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    commands: CommandLine,
    *,
    refusal: errors.MaestroError | None = None,
) -> None:
    """Serve one connection from its first frame to its last. With a `refusal`, answer that and nothing else."""
    try:
        async with asyncio.timeout(first_frame_seconds_max):
            kind, payload = await frames.read(reader)
        if kind != frames.REQUEST:
            raise frames.Garbled(f"a first frame of kind {kind!r}")
        connection = Connection(reader, writer, frames.invocation(payload))
        await connection.serve(commands, refusal)
        writer.close()
    except (frames.Garbled, TimeoutError) as problem:
        log.debug("a connection was closed: %s", problem)
    except (Gone, asyncio.IncompleteReadError, OSError):
        pass  # the client has gone: nobody is left to tell
    finally:
        if not writer.is_closing():
            writer.transport.abort()


class Connection:
    """The client of one command, as a Channel."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, invocation: frames.Invocation
    ) -> None:
        self.invocation = invocation
        self.can_go_on = invocation.protocol == frames.PROTOCOL
        self.stdin_tty = invocation.stdin_tty
        self.stdout_tty = invocation.stdout_tty
        self.stderr_tty = invocation.stderr_tty
        self.columns = invocation.columns
        self.color = wants_color(invocation.environment, tty=invocation.stdout_tty)
        self._reader = reader
        self._writer = writer
        # Frames go out together, so that a short answer and its exit code are one write and one wake-up.
        self._pending = bytearray()
        # Made when something is first asked for: most waits never ask, and there may be thousands of them.
        self._inbox: asyncio.Queue[tuple[bytes, bytes]] | None = None
        self._asked = False
        self._refused = False
        self._opened = ""

    async def serve(self, commands: CommandLine, refusal: errors.MaestroError | None = None) -> None:
        """Carry out the command, unless the client goes away first."""
        if self._speaks_otherwise():
            return await self._send_away(commands.version)
        if refusal is not None and not self._is_down():
            return await self._end(await commands.refuse(refusal, self.invocation, self))
        if self.stderr_tty and self.invocation.version != commands.version:
            await self.err(_versions_differ(self.invocation.version, commands.version))
        peer = peers.peer_of(self._writer.get_extra_info("socket"))
        work = asyncio.create_task(commands.run(self.invocation, self, peer=peer))
        watch = asyncio.create_task(self._watch())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return await watch  # raises what ended it
            await self._end(work.result())
            if self._refused:
                # The client may still be sending what nobody wants: closing now could cost it the answer.
                await asyncio.wait({watch}, timeout=linger_seconds_max)
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def out(self, data: str | bytes) -> None:
        raw = data.encode(errors="backslashreplace") if isinstance(data, str) else data
        await self._put(frames.pack_all(frames.OUT, raw))

    async def err(self, text: str) -> None:
        await self._put(frames.pack_all(frames.ERR, text.encode(errors="backslashreplace")))

    async def flush(self) -> None:
        if self._pending:
            self._writer.write(bytes(self._pending))
            self._pending.clear()
        try:
            await self._writer.drain()
        except OSError as error:
            raise Gone from error

    async def stdin(self) -> bytes:
        return await self._take(frames.STDIN, b"", most=limits.stdin_bytes_max, what="Standard input")

    async def file(self, path: str) -> bytes:
        return await self._take(frames.FILE, path.encode(), most=limits.document_bytes_max, what=path)

    async def open(self, path: str) -> str:
        name = await self._take(frames.OPEN, path.encode(), most=limits.frame_bytes_max, what=path)
        self._opened = path
        try:
            return name.decode()
        except UnicodeDecodeError:
            raise errors.Invalid(f"The real path of {path} is not valid UTF-8.") from None

    async def opened(self) -> bytes:
        return await self._take(frames.FILE, b"", most=limits.document_bytes_max, what=self._opened)

    async def pieces(self) -> AsyncIterator[bytes]:
        self._asked = True
        await self._put(frames.pack(frames.STDIN))
        await self.flush()
        while True:
            kind, piece = await self._answers.get()
            if kind == frames.CONFIRMED:
                yield b""
            elif kind == frames.DATA and piece:
                yield piece
            else:
                return

    async def mark(self) -> None:
        await self._put(frames.pack(frames.CONFIRM))

    async def waiting(self, milliseconds: int) -> None:
        await self._put(frames.pack(frames.WAITING, b"%d" % milliseconds))
        await self.flush()

    async def confirm(self) -> bool:
        kind, _ = await self._ask(frames.CONFIRM)
        self._asked = False
        return kind == frames.CONFIRMED

    async def _take(self, kind: bytes, payload: bytes, *, most: int, what: str) -> bytes:
        """Input from the client, to its end."""
        pieces: list[bytes] = []
        size = 0
        kind, piece = await self._ask(kind, payload)
        while kind == frames.DATA and piece:
            pieces.append(piece)
            size += len(piece)
            if size > most:
                self._refuse()
                raise errors.TooLarge(f"{what} is larger than {most // 1024**2} MiB.", data={"bytes_max": most})
            kind, piece = await self._answers.get()
        self._asked = False
        if size > limits.large_body_bytes:
            memory.give_back_soon()
        if kind != frames.DATA:
            raise errors.Invalid(piece.decode(errors="replace") or f"{what} cannot be read.")
        return b"".join(pieces)

    async def _ask(self, kind: bytes, payload: bytes = b"") -> tuple[bytes, bytes]:
        """Ask the client for something, and wait for the first frame of its answer."""
        self._asked = True
        await self._put(frames.pack(kind, payload))
        await self.flush()
        return await self._answers.get()

    async def _watch(self) -> None:
        """Take in the client's frames until it goes away."""
        while True:
            kind, payload = await frames.read(self._reader)
            if kind not in (frames.DATA, frames.NEGATIVE, frames.CONFIRMED):
                raise frames.Garbled(f"a frame of kind {kind!r}")
            if self._refused:
                continue
            if not self._asked:
                raise frames.Garbled("an answer that nobody asked for")
            await self._answers.put((kind, payload))

    @property
    def _answers(self) -> asyncio.Queue[tuple[bytes, bytes]]:
        if self._inbox is None:
            self._inbox = asyncio.Queue(answers_max)
        return self._inbox

    def _refuse(self) -> None:
        """Want no more of this input; the client may not know yet, and whoever waits to hand it over must not."""
        self._refused = True
        while not self._answers.empty():
            self._answers.get_nowait()

    async def _put(self, data: bytes) -> None:
        self._pending += data
        if len(self._pending) > pending_bytes_max:
            await self.flush()

    async def _end(self, how: int | HandOver | None) -> None:
        await self._put(_last_frame(how))
        await self.flush()

    def _speaks_otherwise(self) -> bool:
        # `down` is the way out of a mismatch, so it must work in spite of one.
        return self.invocation.protocol != frames.PROTOCOL and not self._is_down()

    def _is_down(self) -> bool:
        """Return whether the command is `down`, which must work when nothing else does."""
        return self.invocation.arguments[:1] == [b"down"]

    async def _send_away(self, version: str) -> None:
        theirs, speaks = style.line(self.invocation.version), style.line(self.invocation.protocol)
        await self.err(
            f"maestro: this client ({theirs}) speaks {speaks}, "
            f"the server ({version}) speaks {frames.PROTOCOL}\n"
            "  `maestro down` stops the server; the next command starts the one that is installed.\n"
        )
        await self._end(exit_codes.FAILED)


def _last_frame(how: int | HandOver | None) -> bytes:
    if isinstance(how, int):
        return frames.pack(frames.EXIT, b"%d" % how)
    return frames.pack(frames.LOCAL, msgspec.json.encode({"do": how.do, **how.facts}) if how else b"")


def _versions_differ(client: str, server: str) -> str:
    client = style.line(client)
    return f"maestro: client {client}, server {server}; `maestro down` lets the next command start the new one\n"
