"""Tests that a gate in a sandbox reaches its worktree and loopback, but neither Maestro nor the person's files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from maestro.domain.callers import Callers
from maestro.operations import projects as project_ops
from maestro.testing.supervised import wait_until
from maestro.testing.workshop import MAESTRO, Workshop


def _can_sandbox() -> bool:
    if shutil.which("bwrap") is None:
        return False
    call = ["bwrap", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return subprocess.run(call, capture_output=True, check=False, timeout=30).returncode == 0


needs_bubblewrap = pytest.mark.skipif(not _can_sandbox(), reason="bubblewrap is not installed or not permitted here")

LISTEN = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
caller = socket.create_connection(listener.getsockname(), timeout=5)
taken, _ = listener.accept()
caller.sendall(b"hello")
assert taken.recv(5) == b"hello"
"""


def judge(shop: Workshop, script: str, *words: str) -> dict[str, Any]:
    """Let a worker complete a task with the script as gate, and return the result of the gate."""
    (shop.repo / "gate.sh").write_text(script)
    shop.run_git("add", "gate.sh")
    shop.run_git("commit", "-qm", "gate")
    ref = shop.create_task("Parser", "--gate", "sh gate.sh")["ref"]
    shop.spawn_session("--task", ref, *words, "--", "true")
    found = wait_until(lambda: shop.call_json("task", "show", ref)["evidence"], what="the verdict of the gate")
    result: dict[str, Any] = found[0]
    return result | {"ref": ref, "output": shop.run_maestro("task", "gate", ref)}


@pytest.fixture
def boxed(shop: Workshop) -> Workshop:
    """Return a workshop whose project runs gates in bubblewrap."""
    shop.run_maestro("init")
    shop.run_maestro("project", "edit", "vc", "--sandbox", "bubblewrap")
    return shop


@needs_bubblewrap
@pytest.mark.parametrize("words", [(), ("--worktree",)], ids=["checkout", "worktree"])
def test_a_sandboxed_gate_can_use_git_python_files_and_loopback(boxed: Workshop, words: tuple[str, ...]) -> None:
    script = "\n".join(
        (
            "set -e",
            "git status --porcelain && git log --oneline",
            "python3 -c 'print(6 * 7)'",
            "mkdir -p build && echo made > build/out && echo tmp > /tmp/file && echo home > $HOME/file",
            f"python3 -c {shlex.quote(LISTEN)}",
            'test "$MAESTRO_GATE" = 1',
        )
    )
    result = judge(boxed, script, *words)
    assert (result["passed"], result["sandbox"]) == (True, "bubblewrap"), result["output"]
    assert "gate\n" in result["output"] and "42\n" in result["output"]
    assert "sandbox: bubblewrap" in boxed.run_maestro("task", "show", result["ref"])
    assert words or (boxed.repo / "build" / "out").read_text() == "made\n"


@needs_bubblewrap
def test_a_sandboxed_gate_in_a_worktree_can_commit(boxed: Workshop) -> None:
    commit = "git -c user.name=g -c user.email=g@localhost commit -q --allow-empty -m made && git log -1 --format=%s"
    result = judge(boxed, commit, "--worktree")
    assert result["passed"], result["output"]
    assert result["output"].endswith("made\n")


@needs_bubblewrap
@pytest.mark.parametrize("words", [(), ("--worktree",)], ids=["checkout", "worktree"])
def test_a_sandboxed_gate_reaches_neither_maestro_nor_files_of_the_person(
    boxed: Workshop, tmp_path: Path, words: tuple[str, ...]
) -> None:
    home = Path(boxed.live.environment()["HOME"])
    (home / "secret").write_text("of the person\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    url = boxed.live.url
    port = int(url.rpartition(":")[2].strip("/"))
    connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), timeout=3)"
    git = boxed.repo / ".git"
    probes = {
        "data": f"test -e {boxed.live.home}/maestro.db || ls {boxed.live.home} | grep -qv worktrees",
        "socket": f"test -S {boxed.live.home}/maestro.sock",
        "command": f"MAESTRO_HOME={boxed.live.home} MAESTRO_NO_START=1 timeout 20 {MAESTRO} whoami",
        "tcp": f"python3 -c {shlex.quote(connect)}",
        "home": f"test -e {home}/secret",
        "outside": f"touch {outside}/file",
        "hooks": f"touch {git}/hooks/post-checkout",
        "config": f"git config core.fsmonitor evil || echo x >> {git}/config",
        "commondir": f"touch {git}/commondir",
        "server": "env | grep -E '^MAESTRO_(HOME|TOKEN|SOCKET|SERVER_URL)='",
        "processes": "test $(ls /proc | grep -c '^[0-9]') -gt 15",
    }
    script = "\n".join(
        f"if ( {probe} ) >/dev/null 2>&1; then echo reached {name}; fi" for name, probe in probes.items()
    )
    result = judge(boxed, script, *words)
    assert result["passed"], result["output"]
    assert "reached" not in result["output"], result["output"]
    assert not list(outside.iterdir())
    assert not (git / "hooks" / "post-checkout").exists()


@needs_bubblewrap
def test_a_sandboxed_gate_reads_only_the_listed_caches(boxed: Workshop) -> None:
    home = Path(boxed.live.environment()["HOME"])
    for name in ("listed", "unlisted"):
        (home / name).mkdir()
        (home / name / "file").write_text(name)
    boxed.run_maestro("project", "edit", "vc", "--cache", str(home / "listed"))
    script = f"cat {home}/listed/file && ! test -e {home}/unlisted && ! touch {home}/listed/new"
    result = judge(boxed, script)
    assert result["passed"], result["output"]


@needs_bubblewrap
def test_a_setup_command_runs_in_the_sandbox(boxed: Workshop, tmp_path: Path) -> None:
    (boxed.repo / ".maestro").mkdir()
    command = f"touch made; touch {tmp_path}/outside; true"
    (boxed.repo / ".maestro" / "config.toml").write_text(f"[worktree]\nsetup = {json.dumps(command)}\n")
    boxed.run_maestro("init")
    made = boxed.spawn_session("--name", "ada", "--worktree", "--", "sleep", "60")
    assert made["warnings"] == []
    worktree = Path(boxed.call_json("worktree", "list")["worktrees"][0]["path"])
    assert (worktree / "made").exists()
    assert not (tmp_path / "outside").exists()


def test_a_gate_fails_without_running_if_bubblewrap_is_missing(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run_maestro("init")
    shop.run_maestro("project", "edit", "vc", "--sandbox", "bubblewrap")
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "sh", "sleep", "true", "touch"):
        (programs / name).symlink_to(str(shutil.which(name)))
    shop.live.kill()
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(programs))
        shop.live.start()
    result = judge(shop, "touch ran")
    assert (result["passed"], result["exit_code"], result["sandbox"]) == (False, None, "bubblewrap")
    assert "`sandbox`" in result["output"] and "package bubblewrap" in result["output"]
    assert not (shop.repo / "ran").exists()


def test_a_gate_fails_without_running_if_bubblewrap_cannot_start(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.run_maestro("init")
    shop.run_maestro("project", "edit", "vc", "--sandbox", "bubblewrap")
    program = tmp_path / "programs" / "bwrap"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    program.chmod(0o755)
    shop.live.kill()
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(program.parent), prepend=os.pathsep)
        shop.live.start()
    result = judge(shop, "touch ran")
    assert (result["passed"], result["exit_code"], result["sandbox"]) == (False, None, "bubblewrap")
    assert "bwrap cannot start: bwrap: No permissions" in result["output"]
    assert not (shop.repo / "ran").exists()


def test_gates_run_without_a_sandbox_by_default_and_the_task_shows_sandbox_none(shop: Workshop) -> None:
    result = judge(shop, "true")
    assert (result["passed"], result["sandbox"]) == (True, "none")
    assert "sandbox: none" in shop.run_maestro("task", "show", result["ref"])


def test_only_the_person_can_set_the_sandbox_of_a_project(shop: Workshop) -> None:
    assert project_ops.EDIT.callers is Callers.PERSON
    lead = shop.register_coordinator()
    shop.call_as(lead, "project", "edit", "vc", "--sandbox", "bubblewrap", exits=4)
    (shop.repo / ".maestro").mkdir()
    (shop.repo / ".maestro" / "config.toml").write_text('sandbox = "bubblewrap"\n')
    shop.run_maestro("init")
    assert shop.call_json("project", "show", "vc")["sandbox"] == "none"
