"""Serve a client on the Unix socket. Each connection carries one command; when the client ends, the command ends.

Two tasks run side by side: the command, and a watch that reads the client's frames. When the client disconnects or
violates the protocol, the command is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import msgspec

from maestro.core import errors, limits
from maestro.surfaces.cli import invocation, peers
from maestro.surfaces.cli.channel import ClientGone, HandOver, wants_color
from maestro.surfaces.cli.commands import CommandLine
from maestro.surfaces.cli.render import style
from maestro.system import memory
from maestro.wire import exit_codes, frames

first_frame_seconds_max = 10
linger_seconds_max = 5
pending_bytes_max = 64 * 1024
answers_max = 16

log = logging.getLogger(__name__)


async def serve_connection(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    commands: CommandLine,
    *,
    refusal: errors.MaestroError | None = None,
) -> None:
    """Serve a connection from the first frame to the last. With a `refusal`, only answer with the refusal."""
    try:
        async with asyncio.timeout(first_frame_seconds_max):
            kind, payload = await invocation.read_frame(reader)
        if kind != frames.REQUEST:
            raise invocation.ProtocolViolation(f"a first frame of kind {kind!r}")
        connection = ClientConnection(reader, writer, invocation.decode_invocation(payload))
        await connection.serve_command(commands, refusal)
        writer.close()
    except (invocation.ProtocolViolation, TimeoutError) as problem:
        log.debug("closed a connection without an answer: %s", problem)
    except (ClientGone, asyncio.IncompleteReadError, OSError):
        pass  # the client has disconnected: no answer can reach it
    finally:
        if not writer.is_closing():
            writer.transport.abort()


class ClientConnection:
    """The client of one command, as a Channel."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, invocation: invocation.Invocation
    ) -> None:
        self.invocation = invocation
        self.accepts_hand_over = invocation.protocol == frames.PROTOCOL
        self.stdin_tty = invocation.stdin_tty
        self.stdout_tty = invocation.stdout_tty
        self.stderr_tty = invocation.stderr_tty
        self.columns = invocation.columns
        self.color = wants_color(invocation.environment, tty=invocation.stdout_tty)
        self._reader = reader
        self._writer = writer
        # Frames are sent together: a short answer and the exit code need a single write.
        self._pending = bytearray()
        # Created at the first question to the client: most of the thousands of waits never ask.
        self._answer_queue: asyncio.Queue[tuple[bytes, bytes]] | None = None
        self._is_asking = False
        self._is_input_refused = False
        self._opened_path = ""

    async def serve_command(self, commands: CommandLine, refusal: errors.MaestroError | None = None) -> None:
        """Run the command, unless the client disconnects first."""
        if self._has_other_protocol():
            return await self._refuse_protocol(commands.version)
        if refusal is not None and not self._is_down():
            return await self._send_end(await commands.refuse_command(refusal, self.invocation, self))
        if self.stderr_tty and self.invocation.version != commands.version:
            await self.write_err(_version_note(self.invocation.version, commands.version))
        peer = peers.find_peer(self._writer.get_extra_info("socket"))
        work = asyncio.create_task(commands.run_command(self.invocation, self, peer=peer))
        watch = asyncio.create_task(self._watch_client())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                return await watch  # raises the error that ended the watch
            await self._send_end(work.result())
            if self._is_input_refused:
                # The client may still send refused input: closing now could lose the answer on its way.
                await asyncio.wait({watch}, timeout=linger_seconds_max)
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def write_out(self, data: str | bytes) -> None:
        raw = data.encode(errors="backslashreplace") if isinstance(data, str) else data
        await self._buffer_frames(frames.pack_frames(frames.OUT, raw))

    async def write_err(self, text: str) -> None:
        await self._buffer_frames(frames.pack_frames(frames.ERR, text.encode(errors="backslashreplace")))

    async def flush(self) -> None:
        if self._pending:
            self._writer.write(bytes(self._pending))
            self._pending.clear()
        try:
            await self._writer.drain()
        except OSError as error:
            raise ClientGone from error

    async def read_stdin(self) -> bytes:
        return await self._read_input(frames.STDIN, b"", bytes_max=limits.stdin_bytes_max, name="Standard input")

    async def read_file(self, path: str) -> bytes:
        return await self._read_input(frames.FILE, path.encode(), bytes_max=limits.document_bytes_max, name=path)

    async def open_file(self, path: str) -> str:
        name = await self._read_input(frames.OPEN, path.encode(), bytes_max=frames.PAYLOAD_BYTES_MAX, name=path)
        self._opened_path = path
        try:
            return name.decode()
        except UnicodeDecodeError:
            raise errors.Invalid(f"The real path of {path} is not valid UTF-8.") from None

    async def read_opened_file(self) -> bytes:
        return await self._read_input(frames.FILE, b"", bytes_max=limits.document_bytes_max, name=self._opened_path)

    async def input_pieces(self) -> AsyncIterator[bytes]:
        self._is_asking = True
        await self._buffer_frames(frames.pack_frame(frames.STDIN))
        await self.flush()
        while True:
            kind, piece = await self._client_answers.get()
            if kind == frames.CONFIRMED:
                yield b""
            elif kind == frames.DATA and piece:
                yield piece
            else:
                return

    async def mark_output(self) -> None:
        await self._buffer_frames(frames.pack_frame(frames.CONFIRM))

    async def announce_wait(self, milliseconds: int) -> None:
        await self._buffer_frames(frames.pack_frame(frames.WAITING, b"%d" % milliseconds))
        await self.flush()

    async def confirm_output(self) -> bool:
        kind, _ = await self._ask_client(frames.CONFIRM)
        self._is_asking = False
        return kind == frames.CONFIRMED

    async def _read_input(self, kind: bytes, payload: bytes, *, bytes_max: int, name: str) -> bytes:
        """Return all of one input from the client. Refuse an input larger than `bytes_max`."""
        pieces: list[bytes] = []
        size = 0
        kind, piece = await self._ask_client(kind, payload)
        while kind == frames.DATA and piece:
            pieces.append(piece)
            size += len(piece)
            if size > bytes_max:
                self._discard_input()
                raise errors.TooLarge(
                    f"{name} is larger than {bytes_max // 1024**2} MiB.", data={"bytes_max": bytes_max}
                )
            kind, piece = await self._client_answers.get()
        self._is_asking = False
        if size > limits.large_body_bytes:
            memory.give_memory_back_soon()
        if kind != frames.DATA:
            raise errors.Invalid(piece.decode(errors="replace") or f"{name} cannot be read.")
        return b"".join(pieces)

    async def _ask_client(self, kind: bytes, payload: bytes = b"") -> tuple[bytes, bytes]:
        """Ask the client a question, and wait for the first frame of its answer."""
        self._is_asking = True
        await self._buffer_frames(frames.pack_frame(kind, payload))
        await self.flush()
        return await self._client_answers.get()

    async def _watch_client(self) -> None:
        """Read the client's frames until the client disconnects."""
        while True:
            kind, payload = await invocation.read_frame(self._reader)
            if kind not in (frames.DATA, frames.NEGATIVE, frames.CONFIRMED):
                raise invocation.ProtocolViolation(f"a frame of kind {kind!r}")
            if self._is_input_refused:
                continue
            if not self._is_asking:
                raise invocation.ProtocolViolation("an answer without a question")
            await self._client_answers.put((kind, payload))

    @property
    def _client_answers(self) -> asyncio.Queue[tuple[bytes, bytes]]:
        if self._answer_queue is None:
            self._answer_queue = asyncio.Queue(answers_max)
        return self._answer_queue

    def _discard_input(self) -> None:
        """Discard the rest of this input. The client may still send; the watch must not block on a full queue."""
        self._is_input_refused = True
        while not self._client_answers.empty():
            self._client_answers.get_nowait()

    async def _buffer_frames(self, data: bytes) -> None:
        self._pending += data
        if len(self._pending) > pending_bytes_max:
            await self.flush()

    async def _send_end(self, result: int | HandOver | None) -> None:
        await self._buffer_frames(_last_frame(result))
        await self.flush()

    def _has_other_protocol(self) -> bool:
        # `down` resolves a mismatch of protocols and must therefore work in spite of the mismatch.
        return self.invocation.protocol != frames.PROTOCOL and not self._is_down()

    def _is_down(self) -> bool:
        """Return whether the command is `down`, which must always work."""
        return self.invocation.arguments[:1] == [b"down"]

    async def _refuse_protocol(self, version: str) -> None:
        version_of_client, protocol = (
            style.safe_line(self.invocation.version),
            style.safe_line(self.invocation.protocol),
        )
        await self.write_err(
            f"maestro: this client ({version_of_client}) speaks {protocol}, "
            f"the server ({version}) speaks {frames.PROTOCOL}\n"
            "  `maestro down` stops the server; the next command starts the installed version.\n"
        )
        await self._send_end(exit_codes.FAILED)


def _last_frame(result: int | HandOver | None) -> bytes:
    if isinstance(result, int):
        return frames.pack_frame(frames.EXIT, b"%d" % result)
    return frames.pack_frame(frames.LOCAL, msgspec.json.encode({"do": result.do, **result.facts}) if result else b"")


def _version_note(client: str, server: str) -> str:
    client = style.safe_line(client)
    return f"maestro: client {client}, server {server}; after `maestro down` the next command starts the new server\n"
