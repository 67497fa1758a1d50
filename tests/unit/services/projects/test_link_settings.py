"""Callers link and unlink other projects in the settings files of a checkout."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.operations.projects import LinkProject, ProjectLinks, UnlinkProject

World = Any
Checkouts = Any
MakeRepo = Callable[..., Path]
REMOTE = "https://github.com/acme/boiler"


@pytest.fixture
def engine(make_repo: MakeRepo) -> Path:
    """Create a checkout of github.com/acme/engine and return its path."""
    return make_repo("engine")


async def link(checkouts: Checkouts, folder: Path, *, by: Any = None, **fields: Any) -> ProjectLinks:
    request = LinkProject(name=fields.pop("name", "boiler"), directory=str(folder), **fields)
    linked: ProjectLinks = await checkouts.linking.link_project(by or checkouts.world.dana, request)
    return linked


async def unlink(checkouts: Checkouts, folder: Path, *, name: str = "boiler", local: bool = False) -> ProjectLinks:
    request = UnlinkProject(name=name, local=local, directory=str(folder))
    unlinked: ProjectLinks = await checkouts.linking.unlink_project(checkouts.world.dana, request)
    return unlinked


def settings(folder: Path, name: str = "config.toml") -> str:
    file = folder / ".maestro" / name
    return file.read_text() if file.exists() else ""


async def test_a_link_is_written_to_the_committed_file_and_counts_at_once(checkouts: Checkouts, engine: Path) -> None:
    linked = await link(checkouts, engine, remote=REMOTE)
    assert [(found.name, found.key) for found in linked.links] == [("boiler", "github.com/acme/boiler")]
    assert settings(engine) == f'[projects.boiler]\nremote = "{REMOTE}"\n'
    assert not (engine / ".maestro" / ".gitignore").exists()


async def test_a_local_link_is_kept_out_of_git(checkouts: Checkouts, engine: Path) -> None:
    checkouts.write_settings(engine, "*.log\n", name=".gitignore")
    for _ in range(2):
        await link(checkouts, engine, remote=REMOTE, local=True)
    assert settings(engine) == "" and "boiler" in settings(engine, "local.toml")
    assert settings(engine, ".gitignore") == "*.log\nlocal.toml\n"


async def test_a_link_without_an_address_gets_the_remote_of_the_project_with_that_name(
    checkouts: Checkouts, engine: Path, make_repo: MakeRepo
) -> None:
    make_repo("boiler")
    await link(checkouts, engine)
    assert f'remote = "{REMOTE}"' in settings(engine)


async def test_a_link_without_an_address_to_an_unknown_project_is_refused(checkouts: Checkouts, engine: Path) -> None:
    with pytest.raises(errors.NotFound, match="No project 'boiler' is known"):
        await link(checkouts, engine)
    assert settings(engine) == ""


async def test_a_path_without_a_checkout_is_refused_before_the_file_changes(
    checkouts: Checkouts, engine: Path
) -> None:
    with pytest.raises(errors.NotFound, match="is not a git checkout"):
        await link(checkouts, engine, path="../nowhere")
    assert settings(engine) == ""


async def test_a_settings_file_with_a_mistake_is_not_rewritten(checkouts: Checkouts, engine: Path) -> None:
    checkouts.write_settings(engine, "[projects")
    with pytest.raises(errors.Invalid, match="has a mistake"):
        await link(checkouts, engine, remote=REMOTE)
    assert settings(engine) == "[projects"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff", errors.Invalid),
        (b"#" * limits.checkout_settings_bytes_max, errors.TooLarge),
    ],
    ids=["not text", "too large"],
)
async def test_a_link_is_refused_if_the_settings_file_is_unreadable(
    checkouts: Checkouts, engine: Path, content: bytes, problem: type[errors.MaestroError]
) -> None:
    checkouts.write_settings(engine, "")
    (engine / ".maestro" / "config.toml").write_bytes(content)
    with pytest.raises(problem):
        await link(checkouts, engine, remote=REMOTE)
    assert (engine / ".maestro" / "config.toml").read_bytes() == content


async def test_a_link_is_refused_if_the_settings_file_is_a_symbolic_link(
    checkouts: Checkouts, engine: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.toml"
    outside.write_text("")
    (engine / ".maestro").mkdir()
    (engine / ".maestro" / "config.toml").symlink_to(outside)
    with pytest.raises(errors.Invalid, match="is a symbolic link"):
        await link(checkouts, engine, remote=REMOTE)
    assert outside.read_text() == ""


async def test_unlink_removes_the_link_from_both_settings_files(checkouts: Checkouts, engine: Path) -> None:
    await link(checkouts, engine, remote=REMOTE)
    await link(checkouts, engine, remote=REMOTE, local=True)
    assert (await unlink(checkouts, engine)).links == []
    assert "boiler" not in settings(engine) + settings(engine, "local.toml")
    with pytest.raises(errors.NotFound, match="No project is called 'boiler'"):
        await unlink(checkouts, engine)


async def test_a_local_unlink_does_not_change_the_committed_file(checkouts: Checkouts, engine: Path) -> None:
    await link(checkouts, engine, remote=REMOTE)
    await link(checkouts, engine, remote="https://github.com/dave/boiler", local=True)
    unlinked = await unlink(checkouts, engine, local=True)
    assert [found.key for found in unlinked.links] == ["github.com/acme/boiler"]


async def test_a_session_links_only_in_checkouts_of_its_own_project(
    world: World, checkouts: Checkouts, engine: Path
) -> None:
    located = await checkouts.locate(engine)
    own = await world.boss("own", project=located.project.id)
    stranger = await world.boss("stranger")
    with pytest.raises(errors.NotPermitted, match="does not belong to engine"):
        await link(checkouts, engine, by=stranger, remote=REMOTE)
    assert len((await link(checkouts, engine, by=own, remote=REMOTE)).links) == 1


async def test_a_link_to_a_project_of_this_server_without_a_remote_gets_its_path(
    checkouts: Checkouts, engine: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere" / "boiler"
    elsewhere.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(elsewhere)], check=True)
    known = await checkouts.init(elsewhere, name="boiler")
    linked = await link(checkouts, engine)
    assert [found.project_id for found in linked.links] == [known.project.id]
    assert f'path = "{elsewhere}"' in settings(engine)
