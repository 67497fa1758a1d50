"""Run one command: parse the arguments, call one operation, write text or JSON, return an exit code."""

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
from maestro.domain.messages import ReceiptStep
from maestro.domain.runs import Run, RunStatus
from maestro.operations import mail, mail_shapes
from maestro.operations.agents import AgentList
from maestro.operations.app import App, SocketPeer
from maestro.operations.base import Effect, Operation
from maestro.operations.registry import REGISTRY
from maestro.operations.sessions import WaitedSessions
from maestro.operations.task_shapes import WaitedTasks
from maestro.operations.worktrees import MergedWorktree
from maestro.surfaces.cli import (
    client_files,
    error_exit_codes,
    handover,
    local_commands,
    project_resolver,
    request_builder,
)
from maestro.surfaces.cli.ask_notice import AskNotices
from maestro.surfaces.cli.builtin_commands import BuiltinCommands, TextAnswer
from maestro.surfaces.cli.channel import Channel, ClientGone, HandOver, PipedChannel
from maestro.surfaces.cli.grammar import PROJECT, Grammar
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.cli.parse import ParsedCommand, decode_arguments, parse_command, wants_help, wants_json
from maestro.surfaces.cli.render import answers
from maestro.surfaces.cli.render.base import Rendered
from maestro.surfaces.cli.render.style import View, finish_text, indent_text
from maestro.surfaces.refusal_log import REFUSAL_LOG
from maestro.wire import exit_codes

TOKEN = "MAESTRO_TOKEN"
WAIT_LEFT = "MAESTRO_WAIT_LEFT"

log = logging.getLogger(__name__)


Pipe = Callable[[PipedChannel, SocketPeer | None, Invocation], Awaitable[None]]
Hook = Callable[[Channel, SocketPeer | None, Invocation, list[str]], Awaitable[bool]]


class CommandLine:
    """The commands of one server. Created once; keeps no state of a finished command."""

    def __init__(
        self,
        app: App,
        registry: Mapping[str, Operation] = REGISTRY,
        *,
        version: str = __version__,
        pipe: Pipe | None = None,
        hook: Hook | None = None,
    ) -> None:
        """Build the grammar. `pipe` serves the traffic of `maestro mcp`, `hook` the calls of `maestro hook`."""
        self.app = app
        self.pipe = pipe
        self.hook = hook
        self.version = version
        self.grammar = Grammar(registry)
        self.builtins = BuiltinCommands(app, self.grammar)
        self.ask_notices = AskNotices(app)

    async def run_command(
        self, invocation: Invocation, channel: Channel, *, peer: SocketPeer | None
    ) -> int | HandOver | None:
        """Run one command. Return the exit code, a HandOver for the client, or None if the client must do all of it.

        This is the top-level handler of the command line: it turns every exception into an answer.
        """
        arguments: list[str] = []
        try:
            arguments = decode_arguments(invocation.arguments)
            return await _Run(self, invocation, channel, peer).run(arguments)
        except errors.MaestroError as error:
            REFUSAL_LOG.log_refusal(error)
            return await _write_error(error, channel, json=wants_json(arguments))
        except ClientGone:
            raise
        except Exception as problem:  # a bug must not leave the client without an answer
            if fault := REFUSAL_LOG.find_system_fault(problem):
                return await _write_error(fault, channel, json=wants_json(arguments))
            log.exception("the command `%s` failed", " ".join(arguments[:3]))
            message = f"internal error ({type(problem).__name__})"
            bug = errors.MaestroError(message, hint="See the server's log for details.")
            return await _write_error(bug, channel, json=wants_json(arguments))

    async def refuse_command(self, error: errors.MaestroError, invocation: Invocation, channel: Channel) -> int:
        """Answer a command with a refusal; return the exit code."""
        REFUSAL_LOG.log_refusal(error)
        arguments = [argument.decode(errors="replace") for argument in invocation.arguments]
        return await _write_error(error, channel, json=wants_json(arguments))


class _Run:
    """One running command."""

    def __init__(
        self, commands: CommandLine, invocation: Invocation, channel: Channel, peer: SocketPeer | None
    ) -> None:
        self.app = commands.app
        self.grammar = commands.grammar
        self.offers = commands.builtins
        self.pipe = commands.pipe
        self.hook = commands.hook
        self.attention = commands.ask_notices
        self.invocation = invocation
        self.channel = channel
        self.peer = peer
        self.view = View(channel.stdout_tty, channel.columns, channel.color)
        self.caller: Caller | None = None

    async def run(self, arguments: list[str]) -> int | HandOver | None:
        if arguments and arguments[0] in local_commands.LOCAL_COMMANDS and not wants_help(arguments):
            await self._require_may_run(arguments[0])
            return None
        if arguments[:1] == [local_commands.MCP_PIPE] and self.pipe is not None:
            # With a pipe handler every client comes over the socket, and the channel is a `PipedChannel`.
            await self.pipe(cast(PipedChannel, self.channel), self.peer, self.invocation)
            return exit_codes.DONE
        if arguments[:1] == [local_commands.HOOK.words] and self.hook is not None and not wants_help(arguments):
            is_answered = await self.hook(self.channel, self.peer, self.invocation, arguments[1:])
            return exit_codes.DONE if is_answered else exit_codes.FAILED
        parsed = parse_command(self.grammar, arguments)
        if parsed.help:
            return await self._write_answer(self.offers.help_page(parsed.node, parsed.rest), parsed)
        spec = parsed.spec
        if spec.local:
            raise errors.Invalid(f"`{spec.words}` must be the first argument.", hint=f"usage: {spec.usage_line}")
        values = request_builder.ValueCollector(
            parsed, channel=self.channel, directory=self.invocation.directory, read_file=self._read_file
        )
        found = await values.collect_fields()
        if spec.operation is None:
            return await self._answer_builtin(parsed, request_builder.build_request(spec, found))
        return await self._call_operation(spec.operation, parsed, found)

    async def _require_may_run(self, words: str) -> None:
        """Refuse a session a local command that only the person may run."""
        found = next((command for command in local_commands.BUILTIN_COMMANDS if command.words == words), None)
        if found is None or found.callers is not Callers.PERSON:
            return
        caller = await self._identify_caller()
        if caller.is_session:
            raise errors.NotPermitted(
                f"Only the person runs `maestro {words}`; the caller is session {caller.title or caller.name}.",
                hint="Ask the person to run the command: maestro ask create …",
            )

    async def _call_operation(
        self, operation: Operation, parsed: ParsedCommand, fields: dict[str, Any]
    ) -> int | HandOver:
        """Call the operation of the command."""
        caller = await self._identify_caller()
        if parsed.spec.has_project:
            located = await project_resolver.find_project(
                self.app, parsed, fields, invocation=self.invocation, caller=caller
            )
            fields[PROJECT] = located.project
            await self._write_notes(located.notes)
        request = request_builder.build_request(parsed.spec, fields)
        if handover.is_handed_over(operation, request, json=parsed.json):
            asked = handover.HandOverRequest(
                operation, request, caller, key=request_builder.check_idempotency_key(parsed.key), json=parsed.json
            )
            handed = await handover.hand_over(self.app, asked, self.channel)
            if handed is not None:
                return handed
        if operation.effect is Effect.ACTION and "timeout" in request.__struct_fields__:
            request = await self._with_remaining_time(request)
        if operation.effect is Effect.STREAM:
            items = self.app.stream(operation, request, caller=caller)
            last = await self._write_stream(items, request, parsed)
            return _run_exit_code(last) if handover.follows_run(operation, request) else exit_codes.DONE
        answer = await self.app.call(
            operation, request, caller=caller, key=request_builder.check_idempotency_key(parsed.key)
        )
        code = await self._write_answer(answer, parsed)
        if self.peer is not None and self.channel.stderr_tty:
            await self._write_notes(await self.attention.new_ask_notes(caller))
        if receipt := getattr(answer, "receipt", ""):
            await self._confirm_mail(receipt, caller)
        return code

    async def _with_remaining_time(self, request: msgspec.Struct) -> msgspec.Struct:
        """Return the request with the remaining time. A wait has no effect, so the client may repeat the wait."""
        timeout: int = request.timeout  # type: ignore[attr-defined]
        remaining = self.invocation.environment.get(WAIT_LEFT, "")
        if remaining.isdecimal() and len(remaining) < 15:
            timeout = min(timeout, int(remaining))
        await self.channel.announce_wait(timeout)
        return msgspec.structs.replace(request, timeout=timeout)

    async def _confirm_mail(self, receipt: str, caller: Caller) -> None:
        """Confirm mail as read when the client has written it out.

        If the client ends without a confirmation, the mail is only delivered. If the client had disconnected before
        the question, the mail is not confirmed at all.
        """
        step: ReceiptStep | None = ReceiptStep.DELIVERED
        try:
            if await self.channel.confirm_output():
                step = ReceiptStep.READ
        except ClientGone:
            step = None
            raise
        finally:
            if step is not None:
                request = mail_shapes.ConfirmReceipt(receipt=receipt, step=step, via="command")
                await asyncio.shield(self.app.call(mail.CONFIRM, request, caller=caller))

    async def _answer_builtin(self, parsed: ParsedCommand, request: msgspec.Struct) -> int:
        """Answer a built-in command."""
        if self.offers.needs_no_caller(request):
            return await self._write_answer(self.offers.answer_for_anyone(request), parsed)
        caller = await self._identify_caller()
        answer, notes = await self.offers.answer_for_caller(
            parsed, request, invocation=self.invocation, caller=caller
        )
        await self._write_notes(notes)
        return await self._write_answer(answer, parsed)

    async def _identify_caller(self) -> Caller:
        if self.caller is None:
            environment = self.invocation.environment
            self.caller = await self.app.identify(
                token=environment.get(TOKEN, ""), peer=self.peer, again=WAIT_LEFT in environment
            )
        return self.caller

    async def _read_file(self, path: str) -> bytes:
        return await client_files.read_client_file(self.app, self.channel, await self._identify_caller(), path)

    async def _write_answer(self, answer: Any, parsed: ParsedCommand) -> int:
        if parsed.json:
            data = answer.data if isinstance(answer, TextAnswer) else answer
            await self.channel.write_out(answers.encode_json(data, pretty=self.view.tty))
        else:
            await self._write_rendered(_render_answer(answer, self.view))
        return _exit_code_of(answer)

    async def _write_stream(self, items: AsyncIterator[Any], request: msgspec.Struct, parsed: ParsedCommand) -> Any:
        """Print each answer as it arrives. Return the last answer."""
        count, last = 0, None
        async with _closing_stream(items):
            async for item in items:
                if parsed.json:
                    await self.channel.write_out(answers.encode_json(item))
                else:
                    await self._write_rendered(answers.render_next_answer(last, item, self.view))
                await self.channel.flush()
                count, last = count + 1, item
        if not parsed.json:
            await self._write_notes(_end_of_stream(request, count, getattr(last, "seq", None)))
        return last

    async def _write_rendered(self, rendered: Rendered) -> None:
        out = rendered.out
        if out:
            await self.channel.write_out(out if isinstance(out, bytes) else finish_text(out, color=self.view.color))
        await self._write_notes(rendered.notes)

    async def _write_notes(self, notes: list[str]) -> None:
        for note in notes:
            await self.channel.write_err(finish_text(f"{note}\n"))


def _render_answer(answer: Any, view: View) -> Rendered:
    return Rendered(answer.text) if isinstance(answer, TextAnswer) else answers.render_answer(answer, view)


def _exit_code_of(answer: Any) -> int:
    """Return the exit code of an answer. An unmet wait or a merge conflict is no error, but no success either."""
    if isinstance(answer, WaitedTasks | WaitedSessions | AgentList) and not answer.reached:
        return exit_codes.FAILED
    if isinstance(answer, MergedWorktree) and answer.commit is None:
        return error_exit_codes.exit_code_of(errors.Conflict)
    return exit_codes.DONE


def _run_exit_code(last: Any) -> int:
    """Return the exit code of a run that was followed to its end."""
    return exit_codes.DONE if isinstance(last, Run) and last.status is RunStatus.COMPLETED else exit_codes.FAILED


def _end_of_stream(request: msgspec.Struct, count: int, last: int | None) -> list[str]:
    if not count:
        return ["no events yet"]
    return [f"more events may exist: --since {last}"] if count == getattr(request, "limit", None) else []


def _closing_stream(items: AsyncIterator[Any]) -> contextlib.AbstractAsyncContextManager[Any]:
    """Return a context that closes a generator when the client disconnects, not when the garbage collector runs."""
    if hasattr(items, "aclose"):
        return contextlib.aclosing(items)
    return contextlib.nullcontext()


async def _write_error(error: errors.MaestroError, channel: Channel, *, json: bool) -> int:
    """Write the error to standard error. Return the exit code."""
    if json:
        text = answers.encode_json(error.as_dict(), pretty=channel.stderr_tty).decode()
    else:
        message = indent_text(error.message).strip()
        hint = f"{indent_text(error.hint)}\n" if error.hint else ""
        text = finish_text(f"maestro: {message}\n{hint}")
    await channel.write_err(text)
    return error_exit_codes.exit_code_of(type(error))
