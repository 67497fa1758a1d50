"""Agents that a person started by hand: every dialog is an ask in Maestro, and stays answerable in its own window."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_programs import installed
from agent_programs.base import Room
from agent_programs.person import settle
from agent_programs.windows import ALLOW, DIALOG, REFUSE, Window, open_window, trust_folder
from scripted_model import Answer, Call, Say, ScriptedModel, Shell

from maestro.system import stray_processes
from maestro.testing import rounds
from maestro.testing.live import PYTHON_CLIENT, LiveServer

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]
SHOWN_SECONDS_MAX = 2.0  # from the dialog on the screen to the ask in the list
SECONDS_MAX = 30.0


def asking(tool: str, command: str) -> Answer:
    """Return a step of the model: a call for which the program asks the person."""
    if tool == "codex":
        given = {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "It must be."}
        return Call("exec_command", given)
    return Shell(command)


class Desk:
    """A person with connected programs, a server, and a project."""

    def __init__(self, folder: Path, model: ScriptedModel, tools: tuple[str, ...]) -> None:
        self.room = Room(folder / "person", folder / "vc")
        self.room.home.mkdir()
        self.model = model
        self.addresses = {tool: model.script(tool) for tool in ("claude", "codex", "gemini")}
        self.environment = settle(self.room, lambda tool: self.addresses[tool])
        self.live = LiveServer(folder / "maestro", environment=self.environment)
        self.live.start()
        self.api = httpx.Client(
            base_url=self.live.url, headers={"Authorization": f"Bearer {self.live.token}"}, timeout=60
        )
        self.add_checkout(self.room.work)
        for tool in tools:
            self.maestro("connect", tool, *(("--trust",) if tool == "codex" else ()))
            trust_folder(tool, self.room, self.room.work)

    def add_checkout(self, work: Path) -> None:
        subprocess.run(["git", "init", "-q", str(work)], check=True)
        answer = self.api.post("/api/projects", json={"path": str(work), "name": "vc"})
        assert answer.status_code == 200, answer.text

    def maestro(self, *arguments: str) -> str:
        """Run a command of the person, and return its output with its notes."""
        home = {"MAESTRO_HOME": str(self.live.home)}
        done = subprocess.run(
            [*PYTHON_CLIENT, *arguments],
            cwd=self.room.work,
            env=self.environment | home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def window(self, tool: str) -> Any:
        return open_window(tool, self.room.work, self.environment | {"MAESTRO_HOME": str(self.live.home)})

    def window_of(self, tool: str, number: int) -> Any:
        """Open a window whose program has a model of its own."""
        address = self.model.script(f"{tool}{number}")
        named = {"claude": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}.get(tool)
        if named is None:
            config = self.room.home / ".codex" / "config.toml"
            config.write_text(config.read_text().replace(f"/c/{tool}/", f"/c/{tool}{number}/"))
        environment = self.environment | {"MAESTRO_HOME": str(self.live.home)} | ({named: address} if named else {})
        return open_window(tool, self.room.work, environment)

    def live_sessions(self) -> dict[str, str]:
        """Return the ids of the live sessions by their last prompts."""
        found = self.api.get("/api/sessions", params={"all_projects": True, "active": True}).json()["sessions"]
        return {session["last_prompt"]: session["id"] for session in found}

    def asks(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.get("/api/asks").json()["asks"]
        return found

    def wait_until_idle(self, count: int) -> None:
        """Wait until all agents have ended their turns."""
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            found = self.api.get("/api/sessions", params={"all_projects": True, "active": True}).json()["sessions"]
            if [session["status"] for session in found] == ["idle"] * count:
                return
            assert time.monotonic() < deadline, [(session["name"], session["status"]) for session in found]
            time.sleep(0.05)

    def wait_for_asks(self, count: int, *, seconds: float = SECONDS_MAX) -> list[dict[str, Any]]:
        deadline = time.monotonic() + seconds
        while len(found := self.asks()) != count:
            assert time.monotonic() < deadline, f"{count} asks expected after {seconds} s, found {found}"
            time.sleep(0.05)
        return found

    def close(self) -> None:
        self.api.close()
        self.live.stop()
        stray_processes.kill_marked("HOME", str(self.room.home))


@pytest.fixture
def desk(tmp_path: Path, model: ScriptedModel) -> Iterator[Callable[..., Desk]]:
    if not installed.FOLDER.is_dir():
        pytest.skip("the programs are not installed: make test-agents")
    with ExitStack() as stack:

        def make(*tools: str) -> Desk:
            made = Desk(tmp_path, model, tools)
            stack.callback(made.close)
            return made

        yield make


def bring_to_dialog(desk: Desk, window: Window, marker: Path) -> dict[str, Any]:
    """Let the model ask for a command that makes a file; return the ask, which appears at once."""
    tool = window.tool
    desk.model.script(tool, asking(tool, f"touch {marker}"), *[Say("All done.")] * 3)
    window.type_prompt("Make the file")
    window.wait_for(DIALOG[tool])
    (ask,) = desk.wait_for_asks(1, seconds=SHOWN_SECONDS_MAX)
    return ask


@pytest.mark.parametrize("tool", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("keys", [ALLOW, REFUSE], ids=["allowed", "refused"])
def test_a_dialog_is_an_ask_until_the_person_has_answered_in_the_window(
    desk: Callable[..., Desk], tool: str, keys: str
) -> None:
    made = desk(tool)
    marker = made.room.work / "made.txt"
    with made.window(tool) as window:
        ask = bring_to_dialog(made, window, marker)
        assert (ask["asked_by"], ask["kind"], ask["in_own_window"]) == (tool, "permission", tool != "claude")
        assert f"touch {marker}" in ask["title"] + ask["text"] and str(made.room.work) in ask["window"]
        board = made.maestro()
        assert board.startswith("needs you") and tool in board and "Make the file" in board
        if tool != "codex":  # the hooks of codex run below a daemon without a terminal
            assert window.terminal in ask["window"] and window.terminal in board
        if tool != "claude":
            assert "answer in its own window" in made.maestro("ask", "list")
        window.answer_dialog(keys)
        window.wait_until(lambda: not made.asks(), "the end of the ask")
        if keys == ALLOW:
            window.wait_until(marker.exists, "the file")
    assert marker.exists() is (keys == ALLOW)


@pytest.mark.parametrize("answer", ["allow", "deny"])
def test_a_dialog_of_claude_is_answered_from_maestro_too(desk: Callable[..., Desk], answer: str) -> None:
    made = desk("claude")
    marker = made.room.work / "made.txt"
    with made.window("claude") as window:
        ask = bring_to_dialog(made, window, marker)
        made.maestro("ask", "answer", ask["id"], answer)
        window.wait_for("All done.")
    assert marker.exists() is (answer == "allow") and made.asks() == []


def test_a_dialog_of_claude_stays_an_ask_in_its_window_when_the_server_was_killed(desk: Callable[..., Desk]) -> None:
    made = desk("claude")
    marker = made.room.work / "made.txt"
    with made.window("claude") as window:
        ask = bring_to_dialog(made, window, marker)
        made.live.kill()
        made.live.start()
        made.api.base_url = made.live.url
        (left,) = made.asks()
        assert (left["id"], left["in_own_window"]) == (ask["id"], True)
        window.answer_dialog(ALLOW)
        window.wait_until(marker.exists, "the file")
        window.wait_until(lambda: not made.asks(), "the end of the ask")


FIVE = ("claude", "claude", "gemini", "gemini", "codex")


@pytest.mark.slow
@pytest.mark.rounds
@pytest.mark.timeout(1800)
def test_every_dialog_of_five_agents_is_listed_and_the_board_shows_all_of_them(desk: Callable[..., Desk]) -> None:
    made = desk("claude", "codex", "gemini")
    count, slowest = rounds.round_count(2, full=20), 0.0
    with ExitStack() as stack:
        windows = [stack.enter_context(made.window_of(tool, number)) for number, tool in enumerate(FIVE)]
        for number in range(count):
            for position, window in enumerate(windows):
                # The model continues at the step after the answers in its conversation.
                earlier = [Say("All done.")] * (2 * number)
                steps = [*earlier, asking(window.tool, f"touch {made.room.work}/made-{number}"), Say("All done.")]
                made.model.script(f"{window.tool}{position}", *steps)
                window.type_prompt(f"Prompt {number} of window {position}")
            seen_at: dict[int, float] = {}
            listed_at: dict[int, float] = {}
            deadline = time.monotonic() + SECONDS_MAX * 2
            while len(listed_at) < len(windows) or len(seen_at) < len(windows):
                assert time.monotonic() < deadline, f"round {number}: seen {seen_at}, listed {listed_at}"
                waiting = {ask["session_id"] for ask in made.asks()}
                sessions = made.live_sessions()
                for position, window in enumerate(windows):
                    if position not in seen_at and window.shows_dialog():
                        seen_at[position] = time.monotonic()
                    mine = sessions.get(f"Prompt {number} of window {position}")
                    if position not in listed_at and mine in waiting:
                        listed_at[position] = time.monotonic()
            slowest = max(slowest, *(listed_at[position] - seen_at[position] for position in seen_at))
            assert slowest < SHOWN_SECONDS_MAX
            board = made.maestro()
            assert all(f"Prompt {number} of window {position}" in board for position in range(len(windows)))
            for window in windows:
                window.answer_dialog(ALLOW)
            made.wait_for_asks(0)
            made.wait_until_idle(len(windows))
    rounds.report_rounds("five agents by hand", count, slowest=f"{slowest:.2f} s")
