"""Test the views of workflow templates: the templates of the package and the templates of a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.services.conftest import AT, OTHER, World

from maestro.core import errors
from maestro.domain.projects import Workspace
from maestro.operations import spawning as ops
from maestro.services.supervision.template_views import TemplateViews


@pytest.fixture
async def foreign_checkout(world: World, tmp_path: Path) -> Path:
    """Add a checkout of the project `other`, and return its path."""
    path = tmp_path / "other"
    (path / "deep").mkdir(parents=True)
    workspace = Workspace("wsp_00000000000000000000000009", OTHER.id, "tmp", "tmp/other", str(path), AT)
    await world.store.write(lambda tx: tx.projects.insert_workspace(workspace))
    return path


async def test_the_templates_of_the_package_are_listed(world: World) -> None:
    listed = await TemplateViews(world.store).list_templates(world.dana, ops.ListTemplates())
    (simple,) = [template for template in listed.templates if template.name == "execute-simple"]
    assert simple.phases and simple.summary


async def test_a_template_is_shown_with_its_texts_as_commands(world: World) -> None:
    views = TemplateViews(world.store)
    shown = await views.show_template(world.dana, ops.OneTemplate(name="execute-simple"))
    assert list(shown.texts) == shown.phases
    assert "maestro " in "".join(shown.texts.values()) and "{{" not in "".join(shown.texts.values())


async def test_an_unknown_template_is_not_found(world: World) -> None:
    with pytest.raises(errors.NotFound):
        await TemplateViews(world.store).show_template(world.dana, ops.OneTemplate(name="no-such-template"))


@pytest.mark.parametrize("folder", ["", "deep"])
async def test_a_session_reads_no_templates_of_another_project(
    world: World, foreign_checkout: Path, folder: str
) -> None:
    views, stranger = TemplateViews(world.store), await world.join("stranger")
    request = ops.ListTemplates(path=str(foreign_checkout / folder))
    with pytest.raises(errors.NotPermitted, match="a checkout of another project"):
        await views.list_templates(stranger, request)
    own = await world.join("own", project=OTHER.id)
    for caller in (own, world.dana):
        assert (await views.list_templates(caller, request)).templates


async def test_templates_behind_a_link_into_a_checkout_of_another_project_are_refused(
    world: World, foreign_checkout: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(foreign_checkout)
    stranger = await world.join("stranger")
    with pytest.raises(errors.NotPermitted):
        await TemplateViews(world.store).list_templates(stranger, ops.ListTemplates(path=str(link)))


async def test_a_session_lists_templates_for_a_directory_outside_of_all_checkouts(
    world: World, tmp_path: Path
) -> None:
    worker = await world.join("worker")
    assert (await TemplateViews(world.store).list_templates(worker, ops.ListTemplates(path=str(tmp_path)))).templates
