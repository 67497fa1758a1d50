"""Tests of the contract of every tool in `tools/`. No program starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission
from maestro.runner.conversation import RunnerConversation
from maestro.tools import levels, placeholders, registry
from maestro.tools.base import Launch, LaunchRequest
from maestro.tools.descriptor import ToolDescriptor
from maestro.tools.registry import Tool

TOKEN = "mst_a-secret"
ENVIRONMENT = {"PATH": "/bin", "HOME": "/home/dana", "MAESTRO_TOKEN": TOKEN, "MAESTRO_SESSION_ID": "ses_1"}


WAYS = [(name, driver) for name, tool in registry.TOOLS.items() for driver in tool.abilities.drivers]


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, DriverKind]:
    found: tuple[str, DriverKind] = request.param
    return found


@pytest.fixture
def agent(way: tuple[str, DriverKind]) -> ToolDescriptor:
    return registry.TOOLS[way[0]]


@pytest.fixture
def driver(way: tuple[str, DriverKind]) -> DriverKind:
    return way[1]


def launched(agent: ToolDescriptor, folder: Path, driver: DriverKind, **fields: Any) -> Launch:
    start = LaunchRequest(
        session_id="ses_1",
        system_prompt="You are a worker.",
        directory="/work",
        driver=driver,
        levels=registry.read_levels(agent.name, folder),
        folder=str(folder),
        mcp_command=["maestro", "mcp"],
        hook_command=["maestro", "hook"],
        **({"arguments": ["true"], "task_prompt": "Write the parser."} | fields),
    )
    return agent.prepare_launch(start, ENVIRONMENT | {"TMPDIR": str(folder)})


def written_in(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_every_tool_of_a_member_is_registered() -> None:
    assert set(registry.TOOLS) == {tool.value for tool in Tool}
    assert registry.find_tool("claude-code").name == "claude"
    with pytest.raises(errors.NotFound):
        registry.find_tool("nobody")


def test_the_launch_passes_environment_and_arguments_to_the_program(
    agent: ToolDescriptor, driver: DriverKind, tmp_path: Path
) -> None:
    launch = launched(agent, tmp_path, driver)
    assert launch.environment.items() >= ENVIRONMENT.items()
    assert "true" in launch.arguments


@pytest.mark.parametrize("permission", list(Permission))
def test_no_secret_is_in_the_arguments_or_in_a_file(
    agent: ToolDescriptor, driver: DriverKind, permission: Permission, tmp_path: Path
) -> None:
    launch = launched(agent, tmp_path, driver, permission=permission)
    assert TOKEN not in json.dumps(launch.arguments)
    assert TOKEN not in written_in(tmp_path)


def test_the_launch_has_the_channel_that_the_state_reporter_of_the_driver_needs(
    agent: ToolDescriptor, driver: DriverKind, tmp_path: Path
) -> None:
    launch = launched(agent, tmp_path, driver)
    teller = agent.abilities.drivers[driver]
    assert (launch.conversation is not None) == (teller is StateReporter.RUNNER)
    assert bool(launch.inbox) == (teller is StateReporter.HOOKS)
    assert (agent.typed_prompt("hello") is not None) == (teller is StateReporter.NONE)
    assert agent.abilities.confirms_prompts == (teller is not StateReporter.NONE)


def test_the_launch_has_a_terminal_if_and_only_if_the_driver_is_the_terminal(
    agent: ToolDescriptor, driver: DriverKind, tmp_path: Path
) -> None:
    launch = launched(agent, tmp_path, driver)
    assert (launch.terminal or bool(launch.terminal_client)) == (driver is DriverKind.TERMINAL)
    assert bool(launch.socket_path) == bool(launch.terminal_client)
    if launch.terminal_client:  # the terminal client joins the conversation
        told = " ".join(launch.terminal_client)
        assert launch.socket_path in told and launch.socket_path in " ".join(launch.arguments)
        assert placeholders.CONVERSATION_PLACEHOLDER in told and TOKEN not in told


def test_the_runner_can_start_the_conversation_of_the_launch(
    agent: ToolDescriptor, driver: DriverKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launched(agent, tmp_path, driver, resumes="an earlier one")
    if launch.conversation is None:
        pytest.skip("the driver has no conversation")
    monkeypatch.chdir(tmp_path)
    wrote: list[bytes] = []
    talk = RunnerConversation(_Order(launch), _Reports(), show=lambda data: None, write=wrote.append)  # type: ignore[arg-type]
    talk.start_conversation()
    talk.close()
    lines = [json.loads(line) for line in b"".join(wrote).splitlines()]
    assert lines, "the conversation sends no message"
    assert TOKEN.encode() not in (tmp_path / "conversation.jsonl").read_bytes()


def test_the_prompts_reach_the_program(agent: ToolDescriptor, driver: DriverKind, tmp_path: Path) -> None:
    if agent.abilities.drivers[driver] is StateReporter.NONE:
        pytest.skip("the environment names the files of the prompts")
    launch = launched(agent, tmp_path, driver)
    told = json.dumps([launch.opening, launch.arguments]) + written_in(tmp_path)
    assert "You are a worker." in told
    assert "Write the parser." in told


def test_a_long_prompt_is_not_passed_as_an_argument(
    agent: ToolDescriptor, driver: DriverKind, tmp_path: Path
) -> None:
    if agent.abilities.drivers[driver] is StateReporter.NONE:
        pytest.skip("the environment names the files of the prompts")
    launch = launched(agent, tmp_path, driver, task_prompt="Write it. " * 20_000)
    assert max(map(len, launch.arguments)) < 128 * 1024, "the operating system refuses a longer argument"
    assert any("Write it. " * 20_000 in text for text in (json.dumps(launch.opening), written_in(tmp_path)))


def test_skills_are_files_if_the_tool_takes_skills(agent: ToolDescriptor, driver: DriverKind, tmp_path: Path) -> None:
    skill, own = tmp_path / "elsewhere" / "sql", tmp_path / "own"
    skill.mkdir(parents=True)
    own.mkdir()
    (skill / "SKILL.md").write_text("About queries.")
    for _ in range(2):  # the second start finds the files of the first start
        launch = launched(agent, own, driver, skills=[str(skill)])
        found = [place.parent for place in own.glob("*/*/sql/SKILL.md") if place.read_text() == "About queries."]
        assert len(found) == agent.abilities.loads_skills
        told = json.dumps([launch.arguments, launch.opening])
        assert all(str(place.parents[1]) in told for place in found)


def test_the_launch_starts_the_program_that_the_file_of_the_user_names(tmp_path: Path) -> None:
    (tmp_path / levels.FILE_NAME).write_text('[codex]\nprogram = "/opt/codex"\n')
    assert launched(registry.find_tool("codex"), tmp_path, DriverKind.PROTOCOL).arguments[0] == "/opt/codex"


def test_codex_reaches_maestro_over_mcp_at_every_level() -> None:
    assert {registry.find_tool("codex").reach_with(level) for level in Permission} == {AgentReach.MCP}


class _Order:
    def __init__(self, launch: Launch) -> None:
        self.conversation = launch.conversation
        self.opening = launch.opening
        self.token = TOKEN


class _Reports:
    def queue_report(self, kind: str, **facts: Any) -> None:
        pass
