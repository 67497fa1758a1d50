"""Tests that the sandboxes of docs/security.md limit an agent to its session. The tests run the page's commands."""

from __future__ import annotations

import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import maestro
from maestro.client import script
from maestro.testing.live import SupervisedServer
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
BIN = Path(sys.executable).parent
SOURCE = Path(maestro.__file__).parents[1]
REFUSED = 4
# A stand-in for an agent: tries each access once, and keeps exit code and output.
AGENT = """#!/bin/sh
attempt() { name=$1; shift; "$@" > said.$name 2>&1; echo $? > code.$name; }
attempt session maestro whoami --json
attempt nobody env -u MAESTRO_TOKEN maestro whoami --json
attempt token cat HOME_OF_SERVER/token
attempt control ls HOME_OF_SERVER/sessions/$MAESTRO_SESSION_ID/control.sock
attempt signal kill -0 PID_OF_SERVER
attempt foreign cat FOREIGN/secret
attempt prompt cat "$MAESTRO_TASK_PROMPT_FILE"
attempt mcp sh -c 'printf "%s\\n" "$INITIALIZE" "$CALL" | maestro mcp'
echo '{}' | maestro hook claude UserPromptSubmit
attempt hooked maestro whoami --json
echo parsed > parser.txt
git add parser.txt
attempt commit git -c user.name=Agent -c user.email=agent@example.com commit -qm "Add the parser"
test -d .git || {
    attempt config git config core.fsmonitor ./evil
    attempt gitfile mv .git moved
    attempt common sh -c 'echo "$PWD" > "$(git rev-parse --absolute-git-dir)/commondir"'
    attempt root touch "$(git rev-parse --git-common-dir)/commondir"
}
touch over
"""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}},
}
CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}


def read_commands(heading: str) -> list[str]:
    """Return the shell blocks of a section of the page, in order."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


class Trial:
    """A person with two projects, and the commands of the page."""

    def __init__(self, shop: Workshop, folder: Path) -> None:
        self.shop, self.folder = shop, folder
        self.foreign = folder / "foreign"
        self.foreign.mkdir()
        (self.foreign / "secret").write_text("of another project\n")
        text = AGENT.replace("HOME_OF_SERVER", str(shop.live.home)).replace("FOREIGN", str(self.foreign))
        self.install(shop.repo / "my-agent", text.replace("PID_OF_SERVER", str(self._server_pid())))
        shop.run_git("add", "-A")
        shop.run_git("commit", "-qm", "Add the agent")

    def _server_pid(self) -> int:
        assert isinstance(self.shop.live, SupervisedServer)
        return self.shop.live.pid

    def install(self, path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def run(self, commands: str, **variables: str) -> None:
        """Run commands of the page in the checkout as the person."""
        environment = self.shop.live.environment(**variables)
        done = subprocess.run(
            ["sh", "-ec", commands], cwd=self.shop.repo, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, (commands, done.stdout, done.stderr)

    def worktree_of(self, name: str) -> Path:
        """Return the worktree of a spawned session after the agent has tried every access."""
        (found,) = (self.shop.live.home / "worktrees").glob(f"*/{name}-*")
        return self.wait_for(found)

    def wait_for(self, folder: Path) -> Path:
        wait_until((folder / "over").exists, what=f"the end of the agent in {folder.name}")
        return folder


def code(folder: Path, name: str) -> int:
    return int((folder / f"code.{name}").read_text())


def answer(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / f"said.{name}").read_text())
    return found


def assert_only_the_session(folder: Path, name: str) -> None:
    """Check that the agent is its session only by the token, and reaches nothing else of Maestro or the person."""
    assert answer(folder, "session")["session"]["name"] == name
    assert (code(folder, "nobody"), answer(folder, "nobody")["code"]) == (REFUSED, "not_authenticated")
    assert "You are" in (folder / "said.mcp").read_text()
    for forbidden in ("token", "control", "signal", "foreign"):
        assert code(folder, forbidden) != 0, (folder / f"said.{forbidden}").read_text()
    assert code(folder, "commit") == 0, (folder / "said.commit").read_text()


def assert_git_obeys_the_person(folder: Path) -> None:
    """Check that the agent could not change the settings of git, which person and server run in the worktree."""
    for change in ("config", "gitfile", "common", "root"):
        assert code(folder, change) != 0, change


@pytest.fixture
def trial(tmp_path: Path, make_repo: Callable[..., Path]) -> Iterator[Trial]:
    programs, home = tmp_path / "bin", tmp_path / "person"
    programs.mkdir()
    home.mkdir(mode=0o700)
    reads = [sys.prefix, sys.base_prefix, os.fspath(SOURCE), os.fspath(programs)]
    environment = {
        "HOME": os.fspath(home),
        "PATH": os.pathsep.join([os.fspath(programs), os.fspath(BIN), os.environ["PATH"]]),
        "BOXED_READS": " ".join(reads),
        "INITIALIZE": json.dumps(INITIALIZE),
        "CALL": json.dumps(CALL),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    with SupervisedServer(tmp_path / "live", environment) as live:
        shop = Workshop(live, make_repo("vc"))
        made = Trial(shop, tmp_path)
        shop.run_maestro("init")
        yield made
        shop.end_agents()


@pytest.fixture
def boxed(trial: Trial) -> list[str]:
    """Install the script of the page, and return the commands that follow the script."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    if subprocess.run(["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"], capture_output=True).returncode:
        pytest.skip("this system lets bubblewrap make no namespaces")
    source, *commands = read_commands("An agent in bubblewrap")
    assert source.startswith("#!/bin/sh\n# boxed ")
    trial.install(trial.folder / "bin" / "boxed", source)
    return commands


def test_a_spawned_agent_in_bubblewrap_reaches_only_its_session(trial: Trial, boxed: list[str]) -> None:
    trial.run(boxed[0])
    folder = trial.worktree_of("ada")
    assert_only_the_session(folder, "ada")
    assert code(folder, "prompt") == 0
    assert_git_obeys_the_person(folder)
    assert answer(folder, "hooked")["session"]["status_source"] == "process", (
        "a hook command inside the sandbox does not change the status"
    )
    assert "Add the parser" in trial.shop.run_git("log", "--all", "--format=%s")


def test_an_agent_started_by_hand_in_bubblewrap_reaches_only_its_session(trial: Trial, boxed: list[str]) -> None:
    trial.run(boxed[1].replace("http://127.0.0.1:4747", trial.shop.live.url))
    folder = trial.wait_for(trial.shop.repo.with_name("vc-ben"))
    assert_only_the_session(folder, "ben")
    assert_git_obeys_the_person(folder)


def test_a_spawned_agent_in_bubblewrap_with_the_socket_is_identified_by_its_process(
    trial: Trial, boxed: list[str]
) -> None:
    trial.run(boxed[0].replace("-- boxed", "-- env BOXED_SOCKET=1 boxed"))
    folder = trial.worktree_of("ada")
    for way in ("session", "nobody"):
        assert answer(folder, way)["session"]["name"] == "ada", (
            "without the token, the process identifies the session"
        )
    assert answer(folder, "hooked")["session"]["status_source"] == "hook"
    assert code(folder, "token") != 0
    assert code(folder, "control") != 0


# A stand-in for Claude Code: reads the files that its arguments name, and calls one of its hooks.
CLAUDE = """#!/bin/sh
python - "$@" > said.files 2>&1 <<'END'
import json, os, sys, urllib.request
given = sys.argv[1:]
for flag in ("--append-system-prompt-file", "--mcp-config", "--settings"):
    text = open(given[given.index(flag) + 1]).read()
hook = json.loads(text)["hooks"]["PostToolUse"][0]["hooks"][0]
token = {"Authorization": "Bearer " + os.environ["MAESTRO_TOKEN"]}
with urllib.request.urlopen(urllib.request.Request(hook["url"], b"{}", token)) as answer:
    print(answer.status)
END
exec ./my-agent
"""


@pytest.mark.usefixtures("boxed")
def test_a_known_tool_in_bubblewrap_reads_its_files_and_reaches_its_hooks(trial: Trial) -> None:
    programs = trial.folder / "bin"
    trial.install(programs / "claude", CLAUDE)
    trial.install(programs / "boxed-claude", '#!/bin/sh\nexec boxed claude "$@"\n')
    (trial.shop.live.home / "tools.toml").write_text(f'[claude]\nprogram = "{programs}/boxed-claude"\n')
    trial.shop.spawn_session("--name", "ada", "--tool", "claude", "--worktree")
    folder = trial.worktree_of("ada")
    assert (folder / "said.files").read_text() == "200\n"
    assert_only_the_session(folder, "ada")


@pytest.fixture
def installation() -> Iterator[Path]:
    """Install Maestro in a folder that other users can read. Skip the test if no such Python exists."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    python = shutil.which(version, path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip(f"there is no {version} that another user can run")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    packages = [path for path in sys.path if path.endswith("site-packages")]
    (folder / "lib" / version / "site-packages" / "maestro.pth").write_text("\n".join([str(SOURCE), *packages]))
    command = folder / "bin" / "maestro"
    command.write_text(Path(script.__file__).read_text().replace("#!python", f"#!{folder}/bin/python", 1))
    command.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def user() -> Iterator[str]:
    """Yield the name of a new user. Remove the user and the rule of sudo afterwards."""
    if os.geteuid() != 0:
        pytest.skip("only root makes users")
    if not shutil.which("useradd") or not shutil.which("sudo"):
        pytest.skip("useradd or sudo is not installed")
    name = f"maestro-{os.getpid()}"
    yield name
    Path("/etc/sudoers.d", name).unlink(missing_ok=True)
    subprocess.run(["userdel", "--remove", name], capture_output=True)


def test_an_agent_under_another_user_reaches_only_its_session(trial: Trial, user: str, installation: Path) -> None:
    prepare, _install, start, take_over = (
        block.replace("vc-agent", user).replace("/opt/maestro", os.fspath(installation))
        for block in read_commands("An agent under another user")
    )
    trial.foreign.chmod(0o700)
    trial.run(prepare)
    if subprocess.run(
        ["sudo", "-n", "-u", user, installation / "bin/maestro", "version"], capture_output=True
    ).returncode:
        pytest.skip("another user cannot read this installation of Maestro")
    mcp = "MAESTRO_SERVER_URL,INITIALIZE,CALL"
    trial.run(start.replace("MAESTRO_SERVER_URL", mcp))
    folder = trial.wait_for(Path(pwd.getpwnam(user).pw_dir, "vc"))
    assert_only_the_session(folder, "ada")
    assert Path(folder / "over").owner() == user
    trial.run(take_over)
    assert "Add the parser" in trial.shop.run_git("log", "--branches=ada/*", "--format=%s")
