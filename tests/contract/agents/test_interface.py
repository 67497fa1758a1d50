"""What every agent of `agents/` holds to, whichever program is behind it. Nothing is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maestro import errors
from maestro.agents import known, levels
from maestro.agents.base import Agent, Launch, Start, cleared
from maestro.domain.manifests import Reach
from maestro.domain.members import Permission, Tool
from maestro.domain.talks import Driver
from maestro.runner.talk import Talk

TOKEN = "mst_a-secret"
ENVIRONMENT = {"PATH": "/bin", "HOME": "/home/dana", "MAESTRO_TOKEN": TOKEN, "MAESTRO_SESSION_ID": "ses_1"}


@pytest.fixture(params=list(known.TOOLS))
def agent(request: pytest.FixtureRequest) -> Agent:
    return known.TOOLS[request.param]


def launched(agent: Agent, folder: Path, **fields: Any) -> Launch:
    start = Start(
        session_id="ses_1",
        system_prompt="You are a worker.",
        task_prompt="Write the parser.",
        directory="/work",
        home=folder,
        folder=str(folder),
        mcp=["maestro", "mcp"],
        hook=["maestro", "hook"],
        **({"words": ["true"]} | fields),
    )
    return agent.launch(start, ENVIRONMENT)


def test_every_tool_that_a_member_can_prefer_is_there() -> None:
    assert set(known.TOOLS) == {tool.value for tool in Tool}
    assert known.find("claude-code").name == "claude"
    with pytest.raises(errors.NotFound):
        known.find("nobody")


def test_it_gets_the_environment_and_its_words(agent: Agent, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path)
    assert launch.environment.items() >= ENVIRONMENT.items()
    assert "true" in launch.words


@pytest.mark.parametrize("permission", list(Permission))
def test_no_secret_is_on_its_command_line_or_in_a_file(agent: Agent, permission: Permission, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path, permission=permission)
    assert TOKEN not in json.dumps(launch.words)
    assert all(TOKEN not in path.read_text() for path in tmp_path.iterdir())


def test_it_is_spoken_with_as_it_says(agent: Agent, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path)
    by_protocol = agent.abilities.drivers[0] is Driver.PROTOCOL
    assert (launch.conversation is not None) == by_protocol == (not launch.terminal)
    assert (agent.prompt("hello") is None) == by_protocol
    assert agent.abilities.confirms_prompts == by_protocol


def test_the_runner_can_hold_its_conversation(agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = launched(agent, tmp_path, resumes="an earlier one")
    if launch.conversation is None:
        pytest.skip("it has none")
    monkeypatch.chdir(tmp_path)
    wrote: list[bytes] = []
    talk = Talk(_Order(launch), _Reports(), show=lambda data: None, write=wrote.append)  # type: ignore[arg-type]
    talk.begin()
    talk.close()
    lines = [json.loads(line) for line in b"".join(wrote).splitlines()]
    assert lines, "nothing is said"
    assert TOKEN.encode() not in (tmp_path / "conversation.jsonl").read_bytes()


def test_its_prompts_reach_it(agent: Agent, tmp_path: Path) -> None:
    launch = launched(agent, tmp_path)
    if launch.conversation is None:
        pytest.skip("it finds them in files that its environment names")
    told = json.dumps(launch.opening) + "".join(path.read_text() for path in tmp_path.iterdir())
    assert "You are a worker." in told
    assert "Write the parser." in told


def test_a_tier_means_a_model_and_a_user_may_say_which(tmp_path: Path) -> None:
    (tmp_path / levels.FILE).write_text('[claude.models]\nbest = "their-own"\n[codex]\nprogram = "/opt/codex"\n')
    assert levels.of("claude", tmp_path).model_for("best") == "their-own"
    assert levels.of("claude", tmp_path).model_for("fast") == "haiku"
    assert levels.of("claude", tmp_path).model_for("a-full-name") == "a-full-name"
    assert levels.of("claude", tmp_path).model_for(None) is None
    assert launched(known.find("codex"), tmp_path).words[0] == "/opt/codex"


@pytest.mark.parametrize(
    "text", ["[claude", "[nobody]\n", "[claude]\nprogramme = 1\n", "[claude.permissions]\nall = []\n"]
)
def test_what_is_wrong_in_the_users_file_is_said(text: str, tmp_path: Path) -> None:
    (tmp_path / levels.FILE).write_text(text)
    with pytest.raises(errors.Invalid, match=levels.FILE):
        levels.of("claude", tmp_path)


def test_a_sandbox_leaves_codex_its_mcp_servers() -> None:
    assert {known.find("codex").reach(level) for level in Permission} == {Reach.MCP}


def test_nothing_of_another_agents_run_is_passed_on() -> None:
    found = cleared(
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
    def tell(self, kind: str, **facts: Any) -> None:
        pass
