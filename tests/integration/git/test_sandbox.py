"""The sandbox of commands: the folders that a command may read and write, and the end of its processes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.core.errors import Conflict, MaestroError
from maestro.domain.sandboxes import NO_SANDBOX, Sandbox, SandboxMode
from maestro.git import repositories, sandbox
from maestro.git.repositories import Repository
from maestro.testing.git_repositories import make_repository, run_git


def _can_sandbox() -> bool:
    if shutil.which("bwrap") is None:
        return False
    call = ["bwrap", "--unshare-net", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return subprocess.run(call, capture_output=True, check=False, timeout=30).returncode == 0


needs_bubblewrap = pytest.mark.skipif(not _can_sandbox(), reason="bubblewrap is not installed or not permitted here")


@needs_bubblewrap
async def test_all_processes_of_a_sandboxed_command_end_with_the_command(tmp_path: Path) -> None:
    box = Sandbox(mode=SandboxMode.BUBBLEWRAP, data_directory=str(tmp_path / "data"))
    folder = tmp_path / "work"
    folder.mkdir()
    command = "(setsid env -i sleep 7654321 &) ; echo begun; sleep 7654321"
    ran = await sandbox.run_command(
        command, sandbox=box, directory=str(folder), environment=dict(os.environ), seconds_max=2, bytes_max=1000
    )
    assert ran.is_timed_out and ran.output == b"begun\n"
    lines = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline") if file.exists()]
    assert not [line for line in lines if b"7654321" in line]


@needs_bubblewrap
async def test_a_folder_around_the_home_or_the_data_directory_is_refused(tmp_path: Path) -> None:
    box = Sandbox(mode=SandboxMode.BUBBLEWRAP, data_directory=str(tmp_path / "work" / "data"))
    (tmp_path / "work" / "data").mkdir(parents=True)
    for folder in (tmp_path / "work", Path.home()):
        with pytest.raises(Conflict, match="no sandbox can be made"):
            await sandbox.run_command(
                "true", sandbox=box, directory=str(folder), environment={}, seconds_max=2, bytes_max=1000
            )


@pytest.fixture
def recorded(folder: Path) -> Iterator[Repository]:
    """Yield a recorded repository with one commit."""
    found = repositories.find_repository(str(make_repository(folder / "vc")))
    assert found is not None
    repositories.RECORDS.add_checkout(found, frozenset())
    yield found
    repositories.RECORDS.drop_checkout(found.top)


def box(folder: Path, **fields: Any) -> Sandbox:
    """Return a sandbox whose data directory lies beside the folder."""
    return Sandbox(mode=SandboxMode.BUBBLEWRAP, data_directory=f"{folder}-data", **fields)


def test_a_command_may_write_its_checkout_and_only_parts_of_the_git_directory(
    recorded: Repository, folder: Path
) -> None:
    mounts = sandbox.find_mounts(box(folder), recorded.top, "")
    assert mounts.home == str(Path.home())
    assert mounts.writable == (recorded.top, *(f"{recorded.git_dir}/{name}" for name in ("objects", "refs", "logs")))
    assert mounts.readable == (recorded.git_dir,)
    assert mounts.protected == ()


def test_the_files_that_lead_git_to_a_linked_worktree_are_protected(recorded: Repository, folder: Path) -> None:
    run_git("config", "extensions.worktreeConfig", "true", cwd=Path(recorded.top))
    run_git("worktree", "add", "-q", str(folder / "tree"), cwd=Path(recorded.top))
    linked = repositories.find_repository(str(folder / "tree"))
    assert linked is not None
    repositories.RECORDS.add_checkout(linked, frozenset())
    try:
        mounts = sandbox.find_mounts(box(folder), linked.top, "")
        names = ("commondir", "gitdir", "config.worktree")
        assert mounts.protected == (f"{linked.top}/.git", *(f"{linked.git_dir}/{name}" for name in names))
        assert linked.git_dir in mounts.writable
        Path(linked.git_dir, "config.worktree").unlink()
        Path(linked.git_dir, "config.worktree").symlink_to(folder)
        with pytest.raises(Conflict, match=r"config\.worktree is a symbolic link"):
            sandbox.find_mounts(box(folder), linked.top, "")
    finally:
        repositories.RECORDS.drop_checkout(linked.top)


def test_a_repository_that_maestro_does_not_know_is_refused(folder: Path) -> None:
    unknown = make_repository(folder / "unknown")
    with pytest.raises(Conflict, match="run `maestro init`"):
        sandbox.find_mounts(box(folder), str(unknown), "")


def test_a_folder_outside_of_any_repository_is_writable_alone(folder: Path) -> None:
    mounts = sandbox.find_mounts(box(folder), str(folder), "")
    assert (mounts.writable, mounts.readable, mounts.protected) == ((str(folder),), (), ())


def test_existing_caches_are_readable_and_a_cache_with_the_data_directory_is_refused(folder: Path) -> None:
    (folder / "work").mkdir()
    (folder / "cache").mkdir()
    caches = (str(folder / "cache"), str(folder / "missing"))
    assert sandbox.find_mounts(box(folder, caches=caches), str(folder / "work"), "").readable == (caches[0],)
    Path(f"{folder}-data/cache").mkdir(parents=True)
    with pytest.raises(Conflict, match="would show Maestro's data directory"):
        sandbox.find_mounts(box(folder, caches=(f"{folder}-data/cache",)), str(folder / "work"), "")


def test_programs_on_the_path_are_readable_with_their_whole_installation(folder: Path) -> None:
    installation, plain, work = folder / "venv", folder / "plain" / "bin", folder / "work"
    for made in (installation / "bin", installation / "lib", plain, work, Path(f"{folder}-data/bin")):
        made.mkdir(parents=True)
    search_path = ":".join(
        map(str, (installation / "bin", plain, "/usr/bin", Path(f"{folder}-data/bin"), "relative"))
    )
    mounts = sandbox.find_mounts(box(folder), str(work), search_path)
    assert {str(installation), str(plain)} <= set(mounts.readable)
    assert not [path for path in mounts.readable if path.startswith(("/usr", f"{folder}-data"))]


async def test_a_command_without_a_sandbox_sees_the_environment_as_given(folder: Path) -> None:
    result = await sandbox.run_command(
        "echo $WORD; pwd", sandbox=NO_SANDBOX, directory=str(folder), environment={"WORD": "here"}, seconds_max=10,
        bytes_max=1000,
    )  # fmt: skip
    assert result.output.decode() == f"here\n{folder}\n" and result.has_passed


async def test_a_missing_bubblewrap_is_refused_and_the_command_does_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(MaestroError, match="bwrap is not installed"):
        await sandbox.run_command(
            f"touch {folder}/ran", sandbox=box(folder), directory=str(folder), environment={}, seconds_max=10,
            bytes_max=1000,
        )  # fmt: skip
    assert not (folder / "ran").exists()
