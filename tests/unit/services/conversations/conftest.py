"""Provide sessions whose programs use a protocol or fire hooks, and a runner that answers as a test sets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain import manifests
from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.domain.conversations import AskPolicy, DriverKind, StateReporter, TurnState
from maestro.domain.members import Permission
from maestro.domain.spawns import Spawn
from maestro.operations import spawning as ops
from maestro.services.conversations.answer_job import AnswerDeliveryJob
from maestro.services.conversations.push import Pusher
from maestro.services.conversations.push_job import PushJob
from maestro.services.hooks.handler import HookHandler
from maestro.services.hooks.permission_hold import PermissionHolds
from maestro.services.hooks.self_wait import SelfWaits
from maestro.services.supervision import control, runner_reports
from maestro.services.supervision.control import ProgramControl
from maestro.store.base import Tx
from maestro.testing.manifests import make_manifest
from maestro.tools.hook_dialect import HookEvent, HookMoment, HookReply, ReplyKind, ToolScope

World = Any


class Runner:
    """A stand-in for all runners that records requests and answers as a test sets."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.state = "said"
        self.is_away = False
        self.listens = True
        self.meanwhile: Callable[[], None] = lambda: None

    async def send_request(self, session_id: str, **request: Any) -> dict[str, Any]:
        if self.is_away:
            raise errors.Conflict("The runner of session ses_1 does not answer.")
        self.requests.append(request)
        if request["do"] == "state":
            return {"ok": True, "listens": self.listens}
        return {"ok": True, "state": self.state, "why": "" if self.state in ("said", "busy") else "it waits"}

    def session_folder(self, session_id: str) -> Path:
        return Path("/home/dana/sessions") / session_id

    def prompts(self) -> list[dict[str, Any]]:
        return [request for request in self.requests if request["do"] == "prompt"]


class ProgramSession:
    """A session whose program uses a protocol, with the jobs that serve the session."""

    def __init__(self, world: World, caller: Caller, tool: str = "claude") -> None:
        self.world, self.caller, self.tool = world, caller, tool
        self.runner = Runner()
        pusher = Pusher(world.store, self.runner)  # type: ignore[arg-type]
        on_push_received = lambda session_id: self.on_push_received(session_id)  # noqa: E731
        self.push_job = PushJob(
            world.store, self.runner, pusher, clock=world.clock, on_push_received=on_push_received
        )  # type: ignore[arg-type]
        self.answer_job = AnswerDeliveryJob(world.store, self.runner, clock=world.clock)  # type: ignore[arg-type]
        self.on_push_received: Callable[[str], None] = lambda session_id: None
        self._event_number = 0

    async def report_event(self, kind: str, **facts: Any) -> None:
        """Report a conversation event of the runner with the next number."""
        self._event_number += 1
        await self.report_again(kind, n=self._event_number, **facts)

    async def report_again(self, kind: str, **facts: Any) -> None:
        self.world.clock.advance(0.01)
        report = ops.RunnerReport(report=json.dumps({"kind": kind, "epoch": 1, **facts}))
        reports = runner_reports.RunnerReports(lambda session_id, epoch: "")  # the session has no attested runner
        await self.world.do(reports.accept_report, report, by=self.caller)

    async def become_idle(self) -> None:
        await self.report_event("turn_started")
        await self.report_event("taken_in", prompt="start")
        await self.report_event("turn_ended")

    @property
    async def status(self) -> str:
        return str((await self.world.session(self.caller)).status)

    async def conversation(self) -> Any:
        return await self.world.store.read(lambda tx: tx.conversations.get(self.caller.name))


class TerminalSession:
    """A session in a terminal whose program fires hooks."""

    def __init__(self, program: ProgramSession) -> None:
        self.program, self.world, self.caller = program, program.world, program.caller
        self.restart()

    def restart(self) -> None:
        """Start another server: the state in memory is lost."""
        self.handler = HookHandler(
            self.world.store, PermissionHolds(self.world.store, self.world.hub), SelfWaits(self.program.runner)
        )
        self.program.on_push_received = self.handler.handle_confirmed_push

    async def fire(self, moment: HookMoment, **fields: Any) -> HookReply:
        self.world.clock.advance(0.01)
        event = HookEvent(tool=self.program.tool, event="x", moment=moment, reports_model_calls=True, **fields)
        reply = await self.handler.answer_hook(self.caller, event)
        await self.handler.settle_reply(self.caller, reply, is_delivered=True)
        if moment is HookMoment.STOP and reply.kind is not ReplyKind.GO_ON:
            self.handler.handle_turn_end(self.caller.name)  # as the server does after the commit
        return reply

    async def finish_first_turn(self) -> None:
        await self.fire(HookMoment.STARTS)
        await self.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
        await self.fire(HookMoment.STOP)

    async def turn(self) -> TurnState:
        conversation = await self.program.conversation()
        found: TurnState = conversation.turn
        return found

    async def push_mail(self) -> list[dict[str, Any]]:
        await self.program.push_job.run_once()
        pushed: list[dict[str, Any]] = self.program.runner.prompts()
        return pushed

    async def prompt(self, text: str) -> Any:
        request = ops.PromptSession(id=self.caller.name, text=text)
        sent = await self.world.do(control.send_prompt, request)
        push_job = self.program.push_job
        through = ProgramControl(
            self.world.store, self.world.hub, None, None, _NoWaits(), push_job._pusher, push_mail=push_job.push_to_session  # type: ignore[arg-type]
        )  # fmt: skip
        return sent, await through.push_prompt(self.world.dana, request, sent)

    async def delivery_state(self, sent: Any) -> str:
        return str((await self.world.states(sent))[self.caller.name])

    async def call(self, action: str, touch: ToolScope = ToolScope.ANYTHING) -> HookReply:
        """Return the reply to the hook before a tool call."""
        return await self.fire(HookMoment.BEFORE_TOOL, is_gate=True, action=action, summary=action, scope=touch)

    async def open_asks(self, count: int) -> list[Ask]:
        """Wait until the session has `count` open asks, and return the asks."""
        async with asyncio.timeout(20):
            while True:
                found = await self.world.store.read(lambda tx: tx.asks.open_of_session(self.caller.name, limit=9))
                if len(found) == count:
                    return list(found)
                await asyncio.sleep(0.001)

    async def next_ask(self) -> Ask:
        """Wait until the session has one open ask, and return the ask."""
        (ask,) = await self.open_asks(1)
        return ask


class _NoWaits:
    async def wait_for_receipts(self, caller: Any, request: Any, sent: Any) -> Any:
        return sent

    async def read_deliveries(self, sent: Any) -> Any:
        return sent


@pytest.fixture
async def program(world: World) -> ProgramSession:
    boss = await world.boss("boss")
    return ProgramSession(world, await spoken_with(world, "w", under=boss))


@pytest.fixture
async def busy_program(world: World) -> ProgramSession:
    """Return a session whose program fires no hooks around its tool calls."""
    boss = await world.boss("boss")
    return ProgramSession(world, await spoken_with(world, "w", tool="gemini", under=boss), "gemini")


@pytest.fixture
async def in_terminal(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProgramSession:
    """Return a session in a terminal whose state the hooks report."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))  # the tests put the record files of the program there
    boss = await world.boss("boss")
    return ProgramSession(world, await spoken_with(world, "w", teller=StateReporter.HOOKS, under=boss))


@pytest.fixture
async def self_waiting(world: World) -> ProgramSession:
    """Return a session in a terminal whose model waits for mail by a command and whose program has no dialog."""
    boss = await world.boss("boss")
    return ProgramSession(
        world, await spoken_with(world, "w", teller=StateReporter.HOOKS, tool="gemini", under=boss), "gemini"
    )


@pytest.fixture
def terminal(in_terminal: ProgramSession) -> TerminalSession:
    return TerminalSession(in_terminal)


async def spoken_with(
    world: World, name: str, *, teller: StateReporter = StateReporter.RUNNER, tool: str = "claude", **fields: Any
) -> Caller:
    caller: Caller = await world.join(name, tool=tool, **fields)

    def write(tx: Tx) -> None:
        spawn = Spawn(
            session_id=caller.name,
            tool=tool,
            arguments=[],
            model=None,
            permission=Permission.EDIT,
            strategy="simple",
            template="execute-simple",
            directory="/src/dave/vc",
            run_id=None,
            runner_pid=None,
            runner_started=None,
            exit_code=None,
            exit_signal=None,
            tail=None,
            created_at=tx.at,
            ended_at=None,
        )
        tx.spawns.insert(spawn, manifest=manifests.encode_manifest(make_manifest()))
        driver = DriverKind.PROTOCOL if teller is StateReporter.RUNNER else DriverKind.TERMINAL
        tx.conversations.insert(
            caller.name, driver=driver, state_reporter=teller, allow=["shell:make *"], ask_policy=AskPolicy.ASK
        )

    await world.store.write(write)
    return caller


class ProtocolHooks:
    """The hooks of a session whose program also uses a protocol."""

    def __init__(self, program: ProgramSession) -> None:
        self.program, world = program, program.world
        self.handler = HookHandler(world.store, PermissionHolds(world.store, world.hub), SelfWaits(program.runner))

    async def fire(self, moment: HookMoment, **fields: Any) -> HookReply:
        event = HookEvent(tool="claude", event="x", moment=moment, reports_model_calls=True, **fields)
        reply = await self.handler.answer_hook(self.program.caller, event)
        await self.handler.settle_reply(self.program.caller, reply, is_delivered=True)
        return reply

    async def end_turn(self, **how: Any) -> None:
        await self.program.report_event("turn_ended", **how)
        self.handler.handle_turn_end(self.program.caller.name)

    async def count_pushes(self) -> int:
        await self.program.push_job.run_once()
        return len(self.program.runner.prompts())

    async def delivery_state(self, sent: Any) -> str:
        return str((await self.program.world.states(sent))[self.program.caller.name])


@pytest.fixture
async def hooks(program: ProgramSession) -> ProtocolHooks:
    await program.become_idle()
    return ProtocolHooks(program)
