"""Sessions whose programs speak a protocol, and a runner that says what a test wants said."""

from __future__ import annotations

import asyncio
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
    """In the place of all runners: remembers what it was asked, and answers as it is set."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.state = "said"
        self.is_away = False
        self.listens = True
        self.meanwhile: Callable[[], None] = lambda: None

    async def send_request(self, session_id: str, **request: Any) -> dict[str, Any]:
        if self.is_away:
            raise errors.Conflict("The runner of session ses_1 does not answer.")
        self.asked.append(request)
        if request["do"] == "state":
            return {"ok": True, "listens": self.listens}
        return {"ok": True, "state": self.state, "why": "" if self.state in ("said", "busy") else "it waits"}

    def session_folder(self, session_id: str) -> Path:
        return Path("/home/dana/runs") / session_id

    def prompts(self) -> list[dict[str, Any]]:
        return [one for one in self.asked if one["do"] == "prompt"]


class Talking:
    """One such session, and everything that is done about it."""

    def __init__(self, world: World, caller: Caller, tool: str = "claude") -> None:
        self.world, self.caller, self.tool = world, caller, tool
        self.runner = Runner()
        saying = Pusher(world.store, self.runner)  # type: ignore[arg-type]
        came_in = lambda session_id: self.on_come_in(session_id)  # noqa: E731
        self.waking = PushJob(world.store, self.runner, saying, clock=world.clock, on_push_received=came_in)  # type: ignore[arg-type]
        self.answering = AnswerDeliveryJob(world.store, self.runner, clock=world.clock)  # type: ignore[arg-type]
        self.on_come_in: Callable[[str], None] = lambda session_id: None
        self._told = 0

    async def tell(self, kind: str, **facts: Any) -> None:
        """What its runner reports, under the next number."""
        self._told += 1
        await self.again(kind, n=self._told, **facts)

    async def again(self, kind: str, **facts: Any) -> None:
        import json

        self.world.clock.advance(0.01)
        report = ops.RunnerReport(report=json.dumps({"kind": kind, "epoch": 1, **facts}))
        reports = runner_reports.RunnerReports(lambda session_id, epoch: "")  # its runner was never attested
        await self.world.do(reports.accept_report, report, by=self.caller)

    async def idle(self) -> None:
        await self.tell("turn_started")
        await self.tell("taken_in", prompt="start")
        await self.tell("turn_ended")

    @property
    async def status(self) -> str:
        return str((await self.world.session(self.caller)).status)

    async def talk(self) -> Any:
        return await self.world.store.read(lambda tx: tx.conversations.get(self.caller.name))


class Terminal:
    """One in a terminal, whose program fires hooks."""

    def __init__(self, talking: Talking) -> None:
        self.talking, self.world, self.caller = talking, talking.world, talking.caller
        self.restart()

    def restart(self) -> None:
        """The server starts anew."""
        self.desk = HookHandler(
            self.world.store, PermissionHolds(self.world.store, self.world.hub), SelfWaits(self.talking.runner)
        )
        self.talking.on_come_in = self.desk.handle_confirmed_push

    async def fire(self, moment: HookMoment, **fields: Any) -> HookReply:
        self.world.clock.advance(0.01)
        happening = HookEvent(tool=self.talking.tool, event="x", moment=moment, reports_model_calls=True, **fields)
        reply = await self.desk.answer_hook(self.caller, happening)
        await self.desk.settle_reply(self.caller, reply, is_delivered=True)
        if moment is HookMoment.STOP and reply.kind is not ReplyKind.GO_ON:
            self.desk.handle_turn_end(self.caller.name)  # as the server does after the commit
        return reply

    async def at_rest(self) -> None:
        await self.fire(HookMoment.STARTS)
        await self.fire(HookMoment.PROMPT, prompt="Begin.", conversation="c1")
        await self.fire(HookMoment.STOP)

    async def turn(self) -> TurnState:
        talk = await self.talking.talk()
        found: TurnState = talk.turn
        return found

    async def wake(self) -> list[dict[str, Any]]:
        await self.talking.waking.run_once()
        pushed: list[dict[str, Any]] = self.talking.runner.prompts()
        return pushed

    async def prompt(self, text: str) -> Any:
        request = ops.PromptSession(id=self.caller.name, text=text)
        sent = await self.world.do(control.send_prompt, request)
        waking = self.talking.waking
        through = ProgramControl(
            self.world.store, self.world.hub, None, None, _NoWaits(), waking._saying, push_mail=waking.push_to_session  # type: ignore[arg-type]
        )  # fmt: skip
        return sent, await through.push_prompt(self.world.dana, request, sent)

    async def state(self, sent: Any) -> str:
        return str((await self.world.states(sent))[self.caller.name])

    async def call(self, action: str, touch: ToolScope = ToolScope.ANYTHING) -> HookReply:
        """What becomes of a tool call that it is about to make."""
        return await self.fire(HookMoment.BEFORE_TOOL, is_gate=True, action=action, summary=action, scope=touch)

    async def asked(self) -> Ask:
        for _ in range(1_000):
            found = await self.world.store.read(lambda tx: tx.asks.open_of_session(self.caller.name, limit=9))
            if found:
                (ask,) = found
                return ask
            await asyncio.sleep(0.001)
        raise AssertionError("nothing was asked")


class _NoWaits:
    async def wait_for_receipts(self, caller: Any, request: Any, sent: Any) -> Any:
        return sent

    async def read_deliveries(self, sent: Any) -> Any:
        return sent


@pytest.fixture
async def talking(world: World) -> Talking:
    boss = await world.boss("boss")
    return Talking(world, await spoken_with(world, "w", under=boss))


@pytest.fixture
async def deaf(world: World) -> Talking:
    """One whose program fires no hooks around its tools."""
    boss = await world.boss("boss")
    return Talking(world, await spoken_with(world, "w", tool="gemini", under=boss), "gemini")


@pytest.fixture
async def in_terminal(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Talking:
    """One whose program's hooks tell how it stands."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))  # where the tests put its records
    boss = await world.boss("boss")
    return Talking(world, await spoken_with(world, "w", teller=StateReporter.HOOKS, under=boss))


@pytest.fixture
async def waits_itself(world: World) -> Talking:
    """One in a terminal whose model has to wait for mail, and whose program asks nobody."""
    boss = await world.boss("boss")
    return Talking(
        world, await spoken_with(world, "w", teller=StateReporter.HOOKS, tool="gemini", under=boss), "gemini"
    )


@pytest.fixture
def terminal(in_terminal: Talking) -> Terminal:
    return Terminal(in_terminal)


async def spoken_with(
    world: World, name: str, *, teller: StateReporter = StateReporter.RUNNER, tool: str = "claude", **fields: Any
) -> Caller:
    caller: Caller = await world.join(name, tool=tool, **fields)

    def write(tx: Tx) -> None:
        spawn = Spawn(
            session_id=caller.name,
            tool=tool,
            words=[],
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
        tx.conversations.insert(caller.name, driver=driver, teller=teller, allow=["shell:make *"], rest=AskPolicy.ASK)

    await world.store.write(write)
    return caller
