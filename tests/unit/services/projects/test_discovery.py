"""Discovery finds other projects by the settings of a checkout and by the checkouts beside it, and applies rules."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from maestro.core import errors, limits
from maestro.domain.links import LinkEntry, LinkSource
from maestro.domain.projects import InboundPolicy
from maestro.operations.issues import OpenIssue
from maestro.operations.mail_shapes import SendMail
from maestro.operations.projects import ProjectLocation
from maestro.operations.task_shapes import CreateTask, DependTask, OneTask
from maestro.services.projects import discovery

World = Any
Checkouts = Any
MakeRepo = Callable[..., Path]
BEADS = '[projects.beads]\nremote = "https://github.com/steveyegge/beads"\n'


@pytest.fixture
def engine(make_repo: MakeRepo) -> Path:
    """Create a checkout of github.com/acme/engine and return its path."""
    return make_repo("engine")


async def project_named(world: World, name: str) -> Any:
    return await world.store.read(lambda tx: tx.projects.by_name(name))


class TestSettings:
    async def test_a_remote_in_the_settings_registers_the_project_of_the_remote(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        checkouts.write_settings(engine, BEADS)
        located = await checkouts.locate(engine)
        assert await checkouts.links(located) == {"beads": "github.com/steveyegge/beads"}
        assert (await project_named(world, "beads")).key == "github.com/steveyegge/beads"

    async def test_a_link_that_is_removed_from_the_settings_is_deleted(
        self, checkouts: Checkouts, engine: Path
    ) -> None:
        checkouts.write_settings(engine, BEADS)
        await checkouts.locate(engine)
        checkouts.write_settings(engine, "")
        assert await checkouts.links(await checkouts.locate(engine)) == {}

    async def test_a_path_in_the_settings_links_the_project_of_the_checkout_at_the_path(
        self, checkouts: Checkouts, engine: Path, make_repo: MakeRepo
    ) -> None:
        make_repo("boiler", folder="elsewhere")
        checkouts.write_settings(engine, '[projects.boiler]\npath = "../../../elsewhere/boiler"\n')
        assert await checkouts.links(await checkouts.locate(engine)) == {"boiler": "github.com/acme/boiler"}

    async def test_a_path_without_a_checkout_causes_a_note_and_the_other_links_count(
        self, checkouts: Checkouts, engine: Path
    ) -> None:
        checkouts.write_settings(engine, f'[projects.gone]\npath = "../gone"\n{BEADS}')
        located = await checkouts.locate(engine)
        assert any("[projects.gone]" in note and "is not a git checkout" in note for note in located.notes)
        assert list(await checkouts.links(located)) == ["beads"]

    @pytest.mark.parametrize(
        ("content", "problem"),
        [(b"\xff", "it is not UTF-8"), (b"#" * limits.checkout_settings_bytes_max, "it is larger than")],
    )
    async def test_an_unreadable_settings_file_causes_a_note(
        self, checkouts: Checkouts, engine: Path, content: bytes, problem: str
    ) -> None:
        checkouts.write_settings(engine, "")
        (engine / ".maestro" / "config.toml").write_bytes(content)
        located = await checkouts.locate(engine)
        assert any(problem in note for note in located.notes)

    async def test_a_folder_instead_of_a_settings_file_causes_a_note(
        self, checkouts: Checkouts, engine: Path
    ) -> None:
        (engine / ".maestro" / "local.toml").mkdir(parents=True)
        located = await checkouts.locate(engine)
        assert any("it is not a plain file" in note for note in located.notes)

    async def test_the_password_in_a_remote_is_not_stored(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        checkouts.write_settings(engine, '[projects.b]\nremote = "https://user:hush@github.com/acme/b"\n')
        located = await checkouts.locate(engine)
        (link,) = await world.store.read(lambda tx: tx.links.of_workspace(located.workspace.id))
        assert "hush" not in link.remote and link.key == "github.com/acme/b"

    async def test_unchanged_settings_are_read_once(self, checkouts: Checkouts, engine: Path) -> None:
        checkouts.write_settings(engine, "[projects.x]\n")
        located = await checkouts.locate(engine)
        assert located.notes
        assert await checkouts.discovery.refresh_settings(checkouts.world.dana, located.workspace) == []


class TestRules:
    async def inbound(self, world: World) -> InboundPolicy:
        policy: InboundPolicy = (await project_named(world, "engine")).inbound
        return policy

    async def test_the_committed_settings_set_the_rules_for_the_person(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        checkouts.write_settings(engine, 'inbound = "closed"\nreplies_reopen = false\n')
        await checkouts.locate(engine)
        project = await project_named(world, "engine")
        assert (project.inbound, project.replies_reopen) == (InboundPolicy.CLOSED, False)

    async def test_the_local_settings_set_no_rules(self, world: World, checkouts: Checkouts, engine: Path) -> None:
        checkouts.write_settings(engine, 'inbound = "closed"\n', name="local.toml")
        await checkouts.locate(engine)
        assert await self.inbound(world) is InboundPolicy.OPEN

    async def test_an_invalid_value_of_a_rule_causes_a_note(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        checkouts.write_settings(engine, 'inbound = "sometimes"\nreplies_reopen = "maybe"\n')
        located = await checkouts.locate(engine)
        assert any("inbound must be one of" in note for note in located.notes)
        assert await self.inbound(world) is InboundPolicy.OPEN

    async def test_rules_that_a_session_reads_first_wait_for_the_person(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        located = await checkouts.locate(engine)
        worker = await world.join("w", project=located.project.id)
        checkouts.write_settings(engine, 'inbound = "closed"\n')
        await checkouts.locate(engine, by=worker)
        assert await self.inbound(world) is InboundPolicy.OPEN
        assert not checkouts.discovery.has_pending_rules(worker, located.workspace)
        assert checkouts.discovery.has_pending_rules(world.dana, located.workspace)
        await checkouts.locate(engine)
        assert await self.inbound(world) is InboundPolicy.CLOSED
        assert not checkouts.discovery.has_pending_rules(world.dana, located.workspace)

    async def test_a_set_up_command_is_accepted_only_if_the_person_sees_the_note(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        located = await checkouts.locate(engine)

        async def accepted() -> str:
            command: str = await world.store.read(lambda tx: tx.projects.accepted_setup(located.workspace.id))
            return command

        checkouts.write_settings(engine, '[worktree]\nsetup = "make venv"\n')
        await checkouts.discovery.refresh_settings(world.dana, located.workspace, shows_notes=False)
        assert not await accepted()
        notes = await checkouts.discovery.refresh_settings(world.dana, located.workspace)
        assert await accepted() == "make venv"
        assert any("`make venv`" in note for note in notes)


class TestNames:
    async def find(self, checkouts: Checkouts, located: ProjectLocation, *names: str, by: Any = None) -> None:
        caller = by or checkouts.world.dana
        await checkouts.discovery.make_names_known(caller, names, present_project=located.project.id)

    @pytest.mark.parametrize("folder", ["src/dave", "src"])
    async def test_a_checkout_of_the_same_owner_beside_this_checkout_is_found(
        self, world: World, checkouts: Checkouts, engine: Path, make_repo: MakeRepo, folder: str
    ) -> None:
        make_repo("boiler", folder=folder)
        located = await checkouts.locate(engine)
        await self.find(checkouts, located, "Boiler")
        (link,) = await world.store.read(lambda tx: tx.links.of_workspace(located.workspace.id))
        assert (link.name, link.key, link.source) == ("boiler", "github.com/acme/boiler", LinkSource.NEIGHBOUR)

    async def test_a_found_checkout_stays_linked_after_a_change_of_the_settings(
        self, checkouts: Checkouts, engine: Path, make_repo: MakeRepo
    ) -> None:
        make_repo("boiler")
        located = await checkouts.locate(engine)
        await self.find(checkouts, located, "boiler")
        checkouts.write_settings(engine, BEADS)
        assert set(await checkouts.links(await checkouts.locate(engine))) == {"beads", "boiler"}

    async def test_a_checkout_of_another_owner_is_not_linked(
        self, checkouts: Checkouts, engine: Path, make_repo: MakeRepo
    ) -> None:
        make_repo("boiler", remote="git@github.com:eve/boiler.git")
        located = await checkouts.locate(engine)
        await self.find(checkouts, located, "boiler")
        assert await checkouts.links(located) == {}

    async def test_the_name_of_a_registered_project_is_not_searched_among_checkouts(
        self, checkouts: Checkouts, engine: Path, make_repo: MakeRepo
    ) -> None:
        make_repo("other")
        located = await checkouts.locate(engine)
        await self.find(checkouts, located, "other")
        assert await checkouts.links(located) == {}

    async def test_the_name_of_a_session_is_not_searched_among_checkouts(
        self, world: World, checkouts: Checkouts, engine: Path, make_repo: MakeRepo
    ) -> None:
        make_repo("boiler")
        located = await checkouts.locate(engine)
        worker = await world.join("boiler", project=located.project.id, path=str(engine))
        await self.find(checkouts, located, "boiler", by=worker)
        assert await checkouts.links(located) == {}

    async def test_changed_settings_are_read_before_a_name_is_resolved_again(
        self, world: World, checkouts: Checkouts, engine: Path
    ) -> None:
        located = await checkouts.locate(engine)
        worker = await world.join("w", project=located.project.id, path=str(engine))
        await self.find(checkouts, located, "beads", by=worker)
        assert await checkouts.links(located) == {}
        checkouts.write_settings(engine, BEADS)
        await self.find(checkouts, located, "beads", by=worker)
        assert list(await checkouts.links(located)) == ["beads"]
        checkouts.write_settings(engine, BEADS.replace("steveyegge", "dave"))
        await self.find(checkouts, located, "beads", by=worker)
        assert await checkouts.links(located) == {"beads": "github.com/dave/beads"}

    async def test_a_link_by_convention_prefers_a_checkout_beside_this_checkout(
        self, world: World, checkouts: Checkouts, engine: Path, make_repo: MakeRepo
    ) -> None:
        located = await checkouts.locate(engine)
        known = await checkouts.discovery.find_by_convention(located.workspace, "other")
        assert (known.key, known.source) == ("example.org/other", LinkSource.SERVER)
        make_repo("other")
        beside = await checkouts.discovery.find_by_convention(located.workspace, "other")
        assert (beside.key, beside.source) == ("github.com/acme/other", LinkSource.NEIGHBOUR)
        with pytest.raises(errors.NotFound, match="No project 'nothing' is known"):
            await checkouts.discovery.find_by_convention(located.workspace, "nothing")


class TestRequests:
    @pytest.mark.parametrize(
        "request_with_name",
        [
            OpenIssue(to="boiler", title="t", message="m"),
            SendMail(to=["project:boiler"], subject="s", message="m"),
            CreateTask(title="t", depends_on=["boiler#1"]),
            DependTask(id="#1", on=["boiler#1"]),
        ],
        ids=lambda request: type(request).__name__,
    )
    async def test_the_projects_that_a_request_names_are_linked(
        self, checkouts: Checkouts, engine: Path, make_repo: MakeRepo, request_with_name: Any
    ) -> None:
        make_repo("boiler")
        located = await checkouts.locate(engine)
        request = msgspec.structs.replace(request_with_name, project=located.project.id)
        await discovery.RequestNames(checkouts.discovery).make_names_known(checkouts.world.dana, request)
        assert list(await checkouts.links(located)) == ["boiler"]

    @pytest.mark.parametrize(
        "request_without_name",
        [
            SendMail(to=["human", "not a name"], subject="s", message="m"),
            DependTask(id="#1", on=["#2", "boiler"]),
            OneTask(id="boiler#1"),
        ],
        ids=lambda request: type(request).__name__,
    )
    async def test_texts_of_a_request_that_are_no_project_names_are_not_searched(
        self, checkouts: Checkouts, engine: Path, make_repo: MakeRepo, request_without_name: Any
    ) -> None:
        for name in ("boiler", "human"):
            make_repo(name)
        located = await checkouts.locate(engine)
        request = msgspec.structs.replace(request_without_name, project=located.project.id)
        await discovery.RequestNames(checkouts.discovery).make_names_known(checkouts.world.dana, request)
        assert await checkouts.links(located) == {}


class TestFunctions:
    @pytest.mark.parametrize(
        ("key", "other", "is_same"),
        [
            ("github.com/acme/beads", "github.com/acme/vc", True),
            ("github.com/acme/beads", "github.com/eve/vc", False),
            ("path:/src/beads", "path:/src/vc", False),
            ("beads", "vc", False),
        ],
    )
    def test_projects_have_the_same_owner_if_their_keys_have_the_same_beginning(
        self, key: str, other: str, is_same: bool
    ) -> None:
        assert discovery.have_same_owner(key, other) is is_same

    def test_checkouts_beside_returns_the_nearest_checkout_first(self, tmp_path: Path) -> None:
        near, far = tmp_path / "src" / "dave" / "beads", tmp_path / "src" / "beads"
        for folder in (near, far):
            (folder / ".git").mkdir(parents=True)
        (tmp_path / "src" / "dave" / "plain").mkdir()
        assert discovery.checkouts_beside(f"{tmp_path}/src/dave/vc", "beads") == [str(near), str(far)]
        assert discovery.checkouts_beside(f"{tmp_path}/src/dave/vc", "plain") == []

    def test_settings_stamps_differ_after_each_change_of_a_settings_file(self, tmp_path: Path) -> None:
        stamps = {discovery.settings_stamps(str(tmp_path))}
        (tmp_path / ".maestro").mkdir()
        for name in ("config.toml", "local.toml"):
            (tmp_path / ".maestro" / name).write_text("x = 1\n")
            stamps.add(discovery.settings_stamps(str(tmp_path)))
        assert len(stamps) == 3

    async def test_a_link_entry_with_a_remote_needs_no_checkout(self, world: World) -> None:
        entry = LinkEntry(name="b", source=LinkSource.CONFIG, remote="git@github.com:acme/beads.git")
        identity = await discovery.identity_of(world.store, entry, base="/nowhere")
        assert (identity.key, identity.name, identity.source) == ("github.com/acme/beads", "beads", "remote")
