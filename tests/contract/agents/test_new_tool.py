"""Tests that a new tool needs only a folder and a line.

The test copies the folder `parrot/`, and `tool_folders.py` with an added line, into a temporary directory. The directory
is first in the path of the package `maestro.tools`.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from maestro.tools import tool_folders

ROOT = Path(__file__).parents[3]
PARROT = Path(__file__).parent / "parrot"
SUITES = (
    "tests/contract/agents/test_interface.py",
    "tests/contract/agents/test_running.py",
    "tests/contract/agents/test_connecting.py",
    "tests/unit/tools/test_hook_settings.py",
    "tests/unit/tools/test_hook_dialect.py",
    "tests/unit/tools/test_tool_folders.py",
    "tests/unit/tools/test_light.py",
)
SECONDS_MAX = 100
# Python runs this file when the new interpreter starts: the packages of this interpreter, and the new tool.
SITE = """
import site; site.addsitedir({packages!r})
import maestro.tools; maestro.tools.__path__.insert(0, {tools!r})
"""
FACTS = """
import json
from maestro.client import server_start
from maestro.client.connect import entries
from maestro.docs.tools_page import tools_page
from maestro.operations.members import CreateMember
from maestro.surfaces.cli import local_commands, parameters
from maestro.surfaces.mcp.tools import wait_limits
from maestro.tools import environments, registry
print(json.dumps({
    "tools of members": parameters.parameters_of(CreateMember)["tool"].choices,
    "tool of the alias": parameters.parameters_of(CreateMember)["tool"].aliases["parrot-cli"],
    "tools of connect": list(local_commands.ConnectTool),
    "recognises its hooks": entries.is_maestro_hook("/opt/maestro hook parrot Wakes"),
    "recognises its agents": "PARROT_RUNS" in environments.AGENT_MARKS,
    "inherited variables": list(environments.clear_environment({"PARROT_X": "1", "PARROT_HOME": "2"})),
    "protects its settings": ".parrot" in registry.SETTINGS_FOLDERS,
    "wait of MCP calls": wait_limits.wait_seconds("Parrot CLI", ""),
    "model of the best tier": registry.read_levels("parrot", None).model_for("best"),
    "is in the reference": "| Parrot |" in tools_page(""),
}))
"""


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Return an interpreter that knows the new tool. Its processes know the tool too, in any environment."""
    tools = tmp_path / "tools"
    shutil.copytree(PARROT, tools / "parrot", ignore=shutil.ignore_patterns("__pycache__"))
    before = Path(tool_folders.__file__).read_text()
    after = before.replace('    "command",\n', '    "command",\n    "parrot",\n')
    changed = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    assert changed == ['+     "parrot",'], "exactly one line is added"
    (tools / "tool_folders.py").write_text(after)
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    site = SITE.format(packages=sysconfig.get_path("purelib"), tools=str(tools))
    (packages / "new_tool.pth").write_text(site)
    programs = tmp_path / "venv" / "bin"
    (programs / "maestro").symlink_to(Path(sys.executable).parent / "maestro")
    (programs / "parrot").write_text(f'#!/bin/sh\nexec {sys.executable} {PARROT / "program.py"} "$@"\n')
    (programs / "parrot").chmod(0o755)
    return programs / "python"


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *arguments],
        cwd=ROOT,
        env={**os.environ, "PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]])},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


@pytest.mark.slow
def test_the_new_tool_passes_the_contract_suite(python: Path, tmp_path: Path) -> None:
    cache = f"cache_dir={tmp_path / 'cache'}"
    done = run(python, "-m", "pytest", "-o", cache, "-n", "0", "-vv", "-k", "parrot", *SUITES)
    assert done.returncode == 0, done.stdout + done.stderr
    for way in ("parrot-protocol", "parrot-terminal"):
        assert done.stdout.count(way) >= 10, done.stdout
    for suite in SUITES:
        assert suite in done.stdout, f"{suite} has no test of the new tool"


def test_enums_help_and_reference_name_the_new_tool(python: Path) -> None:
    done = run(python, "-c", FACTS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "tools of members": ["claude", "codex", "gemini", "command", "parrot"],
        "tool of the alias": "parrot",
        "tools of connect": ["claude", "codex", "gemini", "parrot"],
        "recognises its hooks": True,
        "recognises its agents": True,
        "inherited variables": ["PARROT_HOME"],
        "protects its settings": True,
        "wait of MCP calls": 60,
        "model of the best tier": "macaw",
        "is in the reference": True,
    }
