"""A single run of Codex: `codex exec`."""

from __future__ import annotations

import json

from agent_programs import installed
from agent_programs.base import KEY, SERVER, Http, Launch, Room, Stdio

_TOKEN = "MAESTRO_TOKEN"


class Codex:
    """Launches codex with a model.

    With an unknown model, all tools are plain functions, also those of MCP servers. With its newest models, codex
    offers a tool for code, and the model writes code that calls the other tools.
    """

    name = "codex"

    def __init__(self, model: str = "scripted") -> None:
        self.model = model

    def once(self, room: Room, *, model: str, mcp: Stdio | Http, prompt: str) -> Launch:
        home = room.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(_config(self.model, model, mcp))
        environment = room.environment | {"CODEX_HOME": str(home), "SCRIPTED_KEY": KEY}
        if isinstance(mcp, Http):
            environment[_TOKEN] = mcp.token
        words = [installed.program("codex"), "exec", "--json", "--skip-git-repo-check"]
        return Launch([*words, "--", prompt], environment, room.work)


def _config(model: str, url: str, mcp: Stdio | Http) -> str:
    return f"""\
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false  # they would be looked for elsewhere

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[mcp_servers.{SERVER}]
required = true  # else its tools are left out of whatever is asked before they are there, a second after the start
{_server(mcp)}
"""


def _server(mcp: Stdio | Http) -> str:
    """Return the settings of the MCP server. A JSON string is also a TOML string."""
    if isinstance(mcp, Http):
        return f'url = {json.dumps(mcp.url)}\nbearer_token_env_var = "{_TOKEN}"'
    program, *words = mcp.words
    variables = ", ".join(f"{name} = {json.dumps(value)}" for name, value in mcp.environment.items())
    return f"command = {json.dumps(program)}\nargs = {json.dumps(words)}\nenv = {{ {variables} }}"
