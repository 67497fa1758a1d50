"""Projects are rendered with their checkouts, tasks, trackers and the names that other projects use."""

from __future__ import annotations

import msgspec
from tests.unit.surfaces.cli.render.conftest import AT, rendered, text_of

from maestro.domain.links import LinkSource, ProjectLink
from maestro.domain.projects import Project, Workspace
from maestro.domain.trackers import TrackerKind
from maestro.operations import projects
from maestro.surfaces.cli.render.projects import task_counts
from maestro.surfaces.cli.render.style import finish_text

PROJECT = Project("prj_1", "github.com/acme/vc", "vc", ["plan", "build"], AT)
WORKSPACE = Workspace("wsp_1", "prj_1", "dave", "dave/vc", "/src/dave/vc", AT)
LINK = ProjectLink(
    name="compiler", project_id="prj_1", project="vc", key="github.com/acme/vc", source=LinkSource.CONFIG, of="eve/ui"
)


def test_a_project_shows_its_checkouts_and_the_number_of_tasks() -> None:
    detail = projects.ProjectDetail(
        **msgspec.structs.asdict(PROJECT), workspaces=[WORKSPACE], tasks={"todo": 3, "ready": 2, "failed": 0}
    )
    text = str(rendered(detail).out)
    assert text.startswith("vc\n  key      github.com/acme/vc\n")
    assert "plan, build" in text and "dave/vc  /src/dave/vc" in text
    assert "3 todo (2 ready)\n" in text and "failed" not in text


def test_projects_are_listed_with_their_key_and_a_location_shows_its_checkout() -> None:
    assert rendered(projects.ProjectList(projects=[PROJECT])).out == "vc  github.com/acme/vc  prj_1  this server\n"
    assert "maestro init" in rendered(projects.ProjectList(projects=[])).notes[0]
    place = rendered(projects.ProjectLocation(project=PROJECT, workspace=WORKSPACE, notes=["Registered."]))
    assert place.notes == ["Registered."] and "dave/vc  /src/dave/vc" in str(place.out)


def project_detail(**fields: object) -> projects.ProjectDetail:
    facts = {**msgspec.structs.asdict(PROJECT), "workspaces": [], "tasks": {}}
    return projects.ProjectDetail(**{**facts, **fields})


def test_the_list_of_projects_shows_the_name_that_the_current_project_uses() -> None:
    listed = projects.ProjectList(projects=[PROJECT], links=[LINK], cursor="abc")
    assert text_of(listed) == "vc  github.com/acme/vc  prj_1  .maestro/config.toml as compiler\n"
    assert rendered(listed).notes == ["more results: --cursor abc"]


def test_names_of_other_projects_are_listed_with_their_source() -> None:
    shown = rendered(projects.ProjectLinks(links=[LINK], notes=["A name is used twice."]))
    assert str(shown.out).split()[:3] == ["compiler", "github.com/acme/vc", ".maestro/config.toml"]
    assert shown.notes == ["A name is used twice."]
    empty = rendered(projects.ProjectLinks(links=[], notes=["A name is used twice."]))
    assert empty.notes == ["A name is used twice.", "this project has no names for other projects"]


def test_a_project_without_checkouts_links_and_tasks_shows_only_its_facts() -> None:
    shown = text_of(project_detail())
    assert not any(title in shown for title in ("checkouts", "tracker", "other projects", "called", "tasks"))


def test_a_project_shows_its_names_for_other_projects_and_their_names_for_it() -> None:
    shown = text_of(project_detail(links=[LINK]))
    assert "other projects\n  compiler (eve/ui)  github.com/acme/vc, by .maestro/config.toml\n" in shown
    assert "called by others\n  compiler (eve/ui)" in text_of(project_detail(incoming_links=[LINK]))


def test_a_project_shows_its_external_tracker_and_the_problem_of_the_tracker() -> None:
    assert "  beads (maestro tracker status)\n" in text_of(project_detail(tracker=TrackerKind.BEADS))
    failing = project_detail(tracker=TrackerKind.BEADS, tracker_problem="bd is missing")
    assert "  beads; bd is missing (maestro tracker status)\n" in text_of(failing)


def test_a_project_says_when_replies_do_not_reopen_issues() -> None:
    assert "replies" not in text_of(PROJECT)
    closed = msgspec.structs.replace(PROJECT, replies_reopen=False)
    assert "inbound  open; replies do not reopen issues\n" in text_of(closed)


def test_task_counts_leave_out_statuses_without_tasks() -> None:
    counts = {"todo": 3, "in_progress": 1, "completed": 0}
    assert finish_text(task_counts(counts)) == "3 todo, 1 in_progress"
    assert finish_text(task_counts({**counts, "ready": 2})) == "3 todo (2 ready), 1 in_progress"
    assert task_counts({}) == task_counts({"todo": 0}) == "none"
