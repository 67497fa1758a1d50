"""What every agent of `agents/` holds to, whichever program is behind it. Nothing is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.conversations import DriverKind, StateReporter
from maestro.domain.manifests import AgentReach
from maestro.domain.members import Permission, Tool
from maestro.runner.conversation import PipeConversation
from maestro.tools import levels, placeholders, registry
from maestro.tools.base import AgentTool, Launch, LaunchRequest, clear_environment

TOKEN = "mst_a-secret"
ENVIRONMENT = {"PATH": "/bin", "HOME": "/home/dana", "MAESTRO_TOKEN": TOKEN, "MAESTRO_SESSION_ID": "ses_1"}


WAYS = [(name, driver) for name, tool in registry.TOOLS.items() for driver in tool.abilities.drivers]


@pytest.fixture(params=WAYS, ids="-".join)
def way(request: pytest.FixtureRequest) -> tuple[str, DriverKind]:
    found: tuple[str, DriverKind] = request.param
    return found


@pytest.fixture
def agent(way: tuple[str, DriverKind]) -> AgentTool:
    return registry.TOOLS[way[0]]


@pytest.fixture
def driver(way: tuple[str, DriverKind]) -> DriverKind:
    return way[1]


def launched(agent: AgentTool, folder: Path, driver: DriverKind, **fields: Any) -> Launch:
    start = LaunchRequest(
        session_id="ses_1",
        system_prompt="You are a worker.",
        directory="/work",
        driver=driver,
        home=folder,
        folder=str(folder),
        mcp_command=["maestro", "mcp"],
        hook_command=["maestro", "hook"],
        **({"arguments": ["true"], "task_prompt": "Write the parser."} | fields),
    )
    return agent.prepare_launch(start, ENVIRONMENT | {"TMPDIR": str(folder)})


def written_in(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_every_tool_that_a_member_can_prefer_is_there() -> None:
    assert set(registry.TOOLS) == {tool.value for tool in Tool}
    assert registry.find_tool("claude-code").name == "claude"
    with pytest.raises(errors.NotFound):
        registry.find_tool("nobody")


def test_it_gets_the_environment_and_its_words(agent: AgentTool, driver: DriverKind, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path, driver)
    assert launch.environment.items() >= ENVIRONMENT.items()
    assert "true" in launch.arguments


@pytest.mark.parametrize("permission", list(Permission))
def test_no_secret_is_on_its_command_line_or_in_a_file(
    agent: AgentTool, driver: DriverKind, permission: Permission, tmp_path: Path
) -> None:
    launch = launched(agent, tmp_path, driver, permission=permission)
    assert TOKEN not in json.dumps(launch.arguments)
    assert TOKEN not in written_in(tmp_path)


def test_it_is_spoken_with_as_it_says(agent: AgentTool, driver: DriverKind, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path, driver)
    teller = agent.abilities.drivers[driver]
    assert (launch.conversation is not None) == (teller is StateReporter.RUNNER)
    assert bool(launch.inbox) == (teller is StateReporter.HOOKS)
    assert (agent.typed_prompt("hello") is not None) == (teller is StateReporter.NONE)
    assert agent.abilities.confirms_prompts == (teller is not StateReporter.NONE)


def test_a_terminal_is_there_where_it_says_so(agent: AgentTool, driver: DriverKind, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path, driver)
    assert (launch.terminal or bool(launch.terminal_client)) == (driver is DriverKind.TERMINAL)
    assert bool(launch.socket_path) == bool(launch.terminal_client)
    if launch.terminal_client:  # it joins what the other speaks
        told = " ".join(launch.terminal_client)
        assert launch.socket_path in told and launch.socket_path in " ".join(launch.arguments)
        assert placeholders.CONVERSATION_PLACEHOLDER in told and TOKEN not in told


def test_the_runner_can_hold_its_conversation(
    agent: AgentTool, driver: DriverKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = launched(agent, tmp_path, driver, resumes="an earlier one")
    if launch.conversation is None:
        pytest.skip("it has none")
    monkeypatch.chdir(tmp_path)
    wrote: list[bytes] = []
    talk = PipeConversation(_Order(launch), _Reports(), show=lambda data: None, write=wrote.append)  # type: ignore[arg-type]
    talk.begin_conversation()
    talk.close()
    lines = [json.loads(line) for line in b"".join(wrote).splitlines()]
    assert lines, "nothing is said"
    assert TOKEN.encode() not in (tmp_path / "conversation.jsonl").read_bytes()


def test_its_prompts_reach_it(agent: AgentTool, driver: DriverKind, tmp_path: Path) -> None:
    if agent.abilities.drivers[driver] is StateReporter.NONE:
        pytest.skip("it finds them in files that its environment names")
    launch = launched(agent, tmp_path, driver)
    told = json.dumps([launch.opening, launch.arguments]) + written_in(tmp_path)
    assert "You are a worker." in told
    assert "Write the parser." in told


def test_a_long_prompt_comes_as_a_file(agent: AgentTool, driver: DriverKind, tmp_path: Path) -> None:
    if agent.abilities.drivers[driver] is StateReporter.NONE:
        pytest.skip("it finds them in files that its environment names")
    launch = launched(agent, tmp_path, driver, task_prompt="Write it. " * 20_000)
    assert max(map(len, launch.arguments)) < 128 * 1024, "the system takes no such word"
    assert any("Write it. " * 20_000 in text for text in (json.dumps(launch.opening), written_in(tmp_path)))


def test_skills_come_as_files_where_it_takes_them(agent: AgentTool, driver: DriverKind, tmp_path: Path) -> None:
    skill, own = tmp_path / "elsewhere" / "sql", tmp_path / "own"
    skill.mkdir(parents=True)
    own.mkdir()
    (skill / "SKILL.md").write_text("About queries.")
    for _ in range(2):  # also when it is started again
        launch = launched(agent, own, driver, skills=[str(skill)])
        found = [place.parent for place in own.glob("*/*/sql/SKILL.md") if place.read_text() == "About queries."]
        assert len(found) == agent.abilities.takes_skills
        told = json.dumps([launch.arguments, launch.opening])
        assert all(str(place.parents[1]) in told for place in found)


def test_a_tier_means_a_model_and_a_user_may_say_which(tmp_path: Path) -> None:
    (tmp_path / levels.FILE_NAME).write_text('[claude.models]\nbest = "their-own"\n[codex]\nprogram = "/opt/codex"\n')
    assert levels.read_levels("claude", tmp_path).model_for("best") == "their-own"
    assert levels.read_levels("claude", tmp_path).model_for("fast") == "haiku"
    assert levels.read_levels("claude", tmp_path).model_for("a-full-name") == "a-full-name"
    assert levels.read_levels("claude", tmp_path).model_for(None) is None
    assert launched(registry.find_tool("codex"), tmp_path, DriverKind.PROTOCOL).arguments[0] == "/opt/codex"


@pytest.mark.parametrize(
    "text", ["[claude", "[nobody]\n", "[claude]\nprogramme = 1\n", "[claude.permissions]\nall = []\n"]
)
def test_what_is_wrong_in_the_users_file_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / levels.FILE_NAME).write_text(text)
    with pytest.raises(errors.Invalid, match=levels.FILE_NAME):
        levels.read_levels("claude", tmp_path)


def test_a_sandbox_leaves_codex_its_mcp_servers() -> None:
    assert {registry.find_tool("codex").reach_with(level) for level in Permission} == {AgentReach.MCP}


def test_nothing_of_another_agents_run_is_passed_on() -> None:
    found = clear_environment(
        {"CLAUDECODE": "1", "CLAUDE_CODE_X": "1", "GEMINI_CLI": "1", "CLAUDE_CONFIG_DIR": "a", "CODEX_HOME": "b"}
        | {"GEMINI_CLI_HOME": "c", "ANTHROPIC_API_KEY": "k", "MAESTRO_TOKEN": "t", "HOME": "h"}
    )
    assert set(found) == {"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "ANTHROPIC_API_KEY", "HOME"}


class _Order:
    def __init__(self, launch: Launch) -> None:
        self.conversation = launch.conversation
        self.opening = launch.opening
        self.token = TOKEN


class _Reports:
    def queue_report(self, kind: str, **facts: Any) -> None:
        pass
