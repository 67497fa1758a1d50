"""The command line itself: arguments in, one operation called, text or JSON out, an exit code at the end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec

from maestro import __version__
from maestro.core import errors
from maestro.domain.callers import Caller, Callers
from maestro.domain.messages import Step
from maestro.domain.runs import Run, RunStatus
from maestro.operations import mail, mail_shapes
from maestro.operations.agents import AgentList
from maestro.operations.app import App, Peer
from maestro.operations.base import Effect, Operation
from maestro.operations.registry import REGISTRY
from maestro.operations.sessions import WaitedSessions
from maestro.operations.task_shapes import WaitedTasks
from maestro.operations.worktrees import MergedWorktree
from maestro.surfaces.cli import bind, client_files, exit_codes, handing_over, own, place
from maestro.surfaces.cli.attention import Attention
from maestro.surfaces.cli.channel import Channel, Gone, HandOver, Piped
from maestro.surfaces.cli.frames import Invocation
from maestro.surfaces.cli.grammar import PROJECT, Grammar
from maestro.surfaces.cli.offers import Offers, Page
from maestro.surfaces.cli.parse import Parsed, decode, parse, wants_help, wants_json
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.base import Rendered
from maestro.surfaces.cli.render.style import View, finish, indented
from maestro.surfaces.refusals import REFUSALS

TOKEN = "MAESTRO_TOKEN"
WAIT_LEFT = "MAESTRO_WAIT_LEFT"

log = logging.getLogger(__name__)


Pipe = Callable[[Piped, Peer | None, Invocation], Awaitable[None]]
Hook = Callable[[Channel, Peer | None, Invocation, list[str]], Awaitable[bool]]


class CommandLine:
    """Every command of one server. Made once; keeps nothing of a command that is over."""

    def __init__(
        self,
        app: App,
        registry: Mapping[str, Operation] = REGISTRY,
        *,
        version: str = __version__,
        pipe: Pipe | None = None,
        hook: Hook | None = None,
    ) -> None:
        """`pipe` serves what `maestro mcp` passes on, `hook` what `maestro hook` does."""
        self.app = app
        self.pipe = pipe
        self.hook = hook
        self.version = version
        self.grammar = Grammar(registry)
        self.offers = Offers(app, self.grammar)
        self.attention = Attention(app)

    async def run(self, invocation: Invocation, channel: Channel, *, peer: Peer | None) -> int | HandOver | None:
        """Carry out one command: its exit code, what is left to the client, or None where that must do it all itself.

        This is the command line's top-level handler: whatever goes wrong below becomes an answer here.
        """
        arguments: list[str] = []
        try:
            arguments = decode(invocation.arguments)
            return await _Run(self, invocation, channel, peer).run(arguments)
        except errors.MaestroError as error:
            REFUSALS.note(error)
            return await _refuse(error, channel, json=wants_json(arguments))
        except Gone:
            raise
        except Exception as problem:  # a bug must not leave the client without an answer
            if fault := REFUSALS.fault_of(problem):
                return await _refuse(fault, channel, json=wants_json(arguments))
            log.exception("the command `%s` failed", " ".join(arguments[:3]))
            what = f"internal error ({type(problem).__name__})"
            bug = errors.MaestroError(what, hint="The server's log says more.")
            return await _refuse(bug, channel, json=wants_json(arguments))

    async def refuse(self, error: errors.MaestroError, invocation: Invocation, channel: Channel) -> int:
        """Answer a command that the server cannot take on; return its exit code."""
        REFUSALS.note(error)
        words = [word.decode(errors="replace") for word in invocation.arguments]
        return await _refuse(error, channel, json=wants_json(words))


class _Run:
    """One command on its way."""

    def __init__(self, commands: CommandLine, invocation: Invocation, channel: Channel, peer: Peer | None) -> None:
        self.app = commands.app
        self.grammar = commands.grammar
        self.offers = commands.offers
        self.pipe = commands.pipe
        self.hook = commands.hook
        self.attention = commands.attention
        self.invocation = invocation
        self.channel = channel
        self.peer = peer
        self.view = View(channel.stdout_tty, channel.columns, channel.color)
        self.caller: Caller | None = None

    async def run(self, arguments: list[str]) -> int | HandOver | None:
        if arguments and arguments[0] in own.LOCAL_WORDS and not wants_help(arguments):
            await self._require_may_run(arguments[0])
            return None
        if arguments[:1] == [own.PIPE] and self.pipe is not None:
            # Where there is something to serve pipes, every client comes over the socket.
            await self.pipe(cast(Piped, self.channel), self.peer, self.invocation)
            return exit_codes.DONE
        if arguments[:1] == [own.HOOK.words] and self.hook is not None and not wants_help(arguments):
            is_answered = await self.hook(self.channel, self.peer, self.invocation, arguments[1:])
            return exit_codes.DONE if is_answered else exit_codes.FAILED
        parsed = parse(self.grammar, arguments)
        if parsed.help:
            return await self._answer(self.offers.help(parsed.node, parsed.rest), parsed)
        spec = parsed.spec
        if spec.local:
            raise errors.Invalid(f"`{spec.words}` must be the first argument.", hint=f"usage: {spec.usage}")
        values = bind.Values(
            parsed, channel=self.channel, directory=self.invocation.directory, read_file=self._read_file
        )
        found = await values.gather()
        if spec.operation is None:
            return await self._offer(parsed, bind.request(spec, found))
        return await self._operate(spec.operation, parsed, found)

    async def _require_may_run(self, word: str) -> None:
        """Refuse a session a command that the client carries out and that is the person's."""
        found = next((one for one in own.ALL if one.words == word), None)
        if found is None or found.callers is not Callers.PERSON:
            return
        caller = await self._caller()
        if caller.is_session:
            raise errors.NotPermitted(
                f"Only the person runs `maestro {word}`; this is session {caller.title or caller.name}.",
                hint="Ask the person to run the command: maestro ask create …",
            )

    async def _operate(self, operation: Operation, parsed: Parsed, found: dict[str, Any]) -> int | HandOver:
        """Call the one operation that the command stands for."""
        caller = await self._caller()
        if parsed.spec.has_project:
            where = await place.project_for(self.app, parsed, found, invocation=self.invocation, caller=caller)
            found[PROJECT] = where.project
            await self._note(where.notes)
        request = bind.request(parsed.spec, found)
        if handing_over.wanted(operation, request, json=parsed.json):
            asked = handing_over.Asked(operation, request, caller, key=bind.key(parsed.key), json=parsed.json)
            handed = await handing_over.hand_over(self.app, asked, self.channel)
            if handed is not None:
                return handed
        if operation.effect is Effect.ACTION and "timeout" in request.__struct_fields__:
            request = await self._waiting(request)
        if operation.effect is Effect.STREAM:
            items = self.app.stream(operation, request, caller=caller)
            last = await self._stream(items, request, parsed)
            return _outcome(last) if handing_over.follows_run(operation, request) else exit_codes.DONE
        answer = await self.app.call(operation, request, caller=caller, key=bind.key(parsed.key))
        code = await self._answer(answer, parsed)
        if self.peer is not None and self.channel.stderr_tty:
            await self._note(await self.attention.notes(caller))
        if receipt := getattr(answer, "receipt", ""):
            await self._confirm(receipt, caller)
        return code

    async def _waiting(self, request: msgspec.Struct) -> msgspec.Struct:
        """A wait changes nothing, so a client that loses the server asks again, for the time that is left."""
        timeout: int = request.timeout  # type: ignore[attr-defined]
        left = self.invocation.environment.get(WAIT_LEFT, "")
        if left.isdecimal() and len(left) < 15:
            timeout = min(timeout, int(left))
        await self.channel.waiting(timeout)
        return msgspec.structs.replace(request, timeout=timeout)

    async def _confirm(self, receipt: str, caller: Caller) -> None:
        """Mail counts as read once the client says that it has written it out; a client that dies first has only
        been handed it, and one that was gone before has not."""
        step: Step | None = Step.DELIVERED
        try:
            if await self.channel.confirm():
                step = Step.READ
        except Gone:
            step = None
            raise
        finally:
            if step is not None:
                request = mail_shapes.Confirm(receipt=receipt, step=step, via="command")
                await asyncio.shield(self.app.call(mail.CONFIRM, request, caller=caller))

    async def _offer(self, parsed: Parsed, request: msgspec.Struct) -> int:
        """Answer a command of the surface's own."""
        if self.offers.needs_no_caller(request):
            return await self._answer(self.offers.page(request), parsed)
        caller = await self._caller()
        answer, notes = await self.offers.answer(parsed, request, invocation=self.invocation, caller=caller)
        await self._note(notes)
        return await self._answer(answer, parsed)

    async def _caller(self) -> Caller:
        if self.caller is None:
            given = self.invocation.environment
            self.caller = await self.app.identify(
                token=given.get(TOKEN, ""), peer=self.peer, again=WAIT_LEFT in given
            )
        return self.caller

    async def _read_file(self, path: str) -> bytes:
        return await client_files.read(self.app, self.channel, await self._caller(), path)

    async def _answer(self, answer: Any, parsed: Parsed) -> int:
        if parsed.json:
            data = answer.data if isinstance(answer, Page) else answer
            await self.channel.out(answers.as_json(data, pretty=self.view.tty))
        else:
            await self._print(_rendered(answer, self.view))
        return _code_of(answer)

    async def _stream(self, items: AsyncIterator[Any], request: msgspec.Struct, parsed: Parsed) -> Any:
        """Print each answer as it comes; the last one of them."""
        count, last = 0, None
        async with _closing(items):
            async for item in items:
                if parsed.json:
                    await self.channel.out(answers.as_json(item))
                else:
                    await self._print(answers.render_next(last, item, self.view))
                await self.channel.flush()
                count, last = count + 1, item
        if not parsed.json:
            await self._note(_end_of_stream(request, count, getattr(last, "seq", None)))
        return last

    async def _print(self, rendered: Rendered) -> None:
        out = rendered.out
        if out:
            await self.channel.out(out if isinstance(out, bytes) else finish(out, color=self.view.color))
        await self._note(rendered.notes)

    async def _note(self, notes: list[str]) -> None:
        for note in notes:
            await self.channel.err(finish(f"{note}\n"))


def _rendered(answer: Any, view: View) -> Rendered:
    return Rendered(answer.text) if isinstance(answer, Page) else answers.render(answer, view)


def _code_of(answer: Any) -> int:
    """A wait that ended otherwise, an answer that is no, a merge that goes back as a task: no error, no success."""
    if isinstance(answer, WaitedTasks | WaitedSessions | AgentList) and not answer.reached:
        return exit_codes.FAILED
    if isinstance(answer, MergedWorktree) and answer.commit is None:
        return exit_codes.of_error(errors.Conflict)
    return exit_codes.DONE


def _outcome(last: Any) -> int:
    """How a run that was followed to its end has ended."""
    return exit_codes.DONE if isinstance(last, Run) and last.status is RunStatus.COMPLETED else exit_codes.FAILED


def _end_of_stream(request: msgspec.Struct, count: int, last: int | None) -> list[str]:
    if not count:
        return ["nothing yet"]
    return [f"there may be more: --since {last}"] if count == getattr(request, "limit", None) else []


def _closing(items: AsyncIterator[Any]) -> contextlib.AbstractAsyncContextManager[Any]:
    """A generator is closed when the client goes away, not when the collector finds it."""
    if hasattr(items, "aclose"):
        return contextlib.aclosing(items)
    return contextlib.nullcontext()


async def _refuse(error: errors.MaestroError, channel: Channel, *, json: bool) -> int:
    """Say what went wrong, on standard error."""
    if json:
        said = answers.as_json(error.as_dict(), pretty=channel.stderr_tty).decode()
    else:
        message = indented(error.message).strip()
        hint = f"{indented(error.hint)}\n" if error.hint else ""
        said = finish(f"maestro: {message}\n{hint}")
    await channel.err(said)
    return exit_codes.of_error(type(error))
