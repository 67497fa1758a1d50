"""Mode and strategy choose a workflow template, and templates of a project override packaged templates."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.domain.sessions import SessionMode
from maestro.prompts import templates
from maestro.prompts.templates import TemplateLibrary, load_templates, packaged_templates

PHASES = {
    "coordinate-default": "analyze decompose spawn monitor verify complete",
    "coordinate-intelligent-batching": "analyze decompose execute_batch verify complete",
    "coordinate-dag": "analyze build_dag execute_wave verify complete",
    "coordinate-pipeline": "analyze build_pipeline run_stage verify complete",
    "coordinate-collaborative": "analyze divide spawn facilitate verify complete",
    "coordinate-race": "analyze set_criteria start_attempts judge complete",
    "execute-simple": "init execute verify complete",
    "execute-tree": "init order execute_tree verify complete",
    "execute-collaborative": "init agree execute integrate verify complete",
    "execute-plan": "init explore plan review complete",
}

OWN = """---
name: {name}
mode: {mode}
strategy: {strategy}
summary: Ours.
phases: only
---
## only
Do it our way.
"""


def write(folder: Path, name: str, *, mode: str = "execute", strategy: str = "own", text: str = OWN) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.md"
    path.write_text(text.format(name=name, mode=mode, strategy=strategy))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "templates"


def test_the_package_contains_ten_templates_with_their_documented_phases() -> None:
    found = {
        name: " ".join(phase.name for phase in one.phases) for name, one in packaged_templates().templates.items()
    }
    assert found == PHASES


def test_the_name_of_each_packaged_template_consists_of_mode_and_strategy() -> None:
    for name, found in packaged_templates().templates.items():
        assert name == f"{found.mode}-{found.strategy}"


@pytest.mark.parametrize(
    ("mode", "strategy", "name"),
    [
        (SessionMode.COORDINATE, "", "coordinate-default"),
        (SessionMode.COORDINATE, "dag", "coordinate-dag"),
        (SessionMode.COORDINATE, "batching", "coordinate-intelligent-batching"),
        (SessionMode.COORDINATE, "batch", "coordinate-intelligent-batching"),
        (SessionMode.EXECUTE, "", "execute-simple"),
        (SessionMode.EXECUTE, "plan", "execute-plan"),
        (SessionMode.PLAN, "", "execute-plan"),
        (SessionMode.PLAN, "plan", "execute-plan"),
    ],
)
def test_mode_and_strategy_choose_a_packaged_template(mode: SessionMode, strategy: str, name: str) -> None:
    assert packaged_templates().choose_template(mode, strategy).name == name


@pytest.mark.parametrize(
    ("mode", "strategy"), [(SessionMode.EXECUTE, "dag"), (SessionMode.PLAN, "simple"), (SessionMode.COORDINATE, "x")]
)
def test_a_strategy_of_another_mode_is_refused_with_the_strategies_of_the_mode(
    mode: SessionMode, strategy: str
) -> None:
    with pytest.raises(errors.Invalid) as caught:
        packaged_templates().choose_template(mode, strategy)
    assert all(known in caught.value.hint for known in packaged_templates().strategies_of_mode(mode))


def test_a_template_is_found_by_its_name_or_by_an_alias() -> None:
    assert packaged_templates().get_template("coordinate-batching").name == "coordinate-intelligent-batching"
    with pytest.raises(errors.NotFound, match="nothing"):
        packaged_templates().get_template("nothing")


def test_the_list_of_templates_is_ordered_by_mode() -> None:
    modes = [found.mode for found in packaged_templates().list_templates()]
    assert modes == sorted(modes, key=list(SessionMode).index)


def test_a_project_without_templates_has_the_packaged_templates(folder: Path) -> None:
    assert load_templates(None) is packaged_templates()
    assert load_templates(folder) is packaged_templates()
    folder.mkdir()
    (folder / "notes.txt").write_text("no template")
    assert load_templates(folder) is packaged_templates()


def test_templates_of_a_project_override_and_extend_the_packaged_templates(folder: Path) -> None:
    path = write(folder, "execute-simple", strategy="simple")
    write(folder, "execute-own")
    found = load_templates(folder)
    assert found.choose_template(SessionMode.EXECUTE).phases[0].text == "Do it our way."
    assert found.choose_template(SessionMode.EXECUTE).source == str(path)
    assert found.choose_template(SessionMode.EXECUTE, "own").name == "execute-own"
    assert found.get_template("coordinate-dag") is packaged_templates().get_template("coordinate-dag")
    assert packaged_templates().choose_template(SessionMode.EXECUTE).source == "maestro"


def test_a_template_with_any_name_is_found_by_its_mode_and_strategy(folder: Path) -> None:
    write(folder, "swarm", mode="coordinate", strategy="swarm")
    assert load_templates(folder).choose_template(SessionMode.COORDINATE, "swarm").name == "swarm"
    write(folder, "other", mode="coordinate", strategy="swarm")
    with pytest.raises(errors.Ambiguous, match="other, swarm"):
        load_templates(folder).choose_template(SessionMode.COORDINATE, "swarm")


def test_a_template_of_a_project_for_plan_mode_is_chosen_by_its_strategy(folder: Path) -> None:
    write(folder, "plan-deep", mode="plan", strategy="deep")
    assert load_templates(folder).choose_template(SessionMode.PLAN, "deep").name == "plan-deep"


def test_an_invalid_template_is_refused_and_other_templates_stay_usable(folder: Path) -> None:
    path = write(folder, "execute-simple", strategy="simple", text="no front matter")
    found = load_templates(folder)
    assert found.choose_template(SessionMode.COORDINATE).name == "coordinate-default"
    with pytest.raises(errors.Invalid) as caught:
        found.choose_template(SessionMode.EXECUTE)
    assert caught.value.data == {"file": str(path), "line": 1}
    assert list(found.broken) == ["execute-simple"]
    assert "execute-simple" not in found.templates


def refusal(found: TemplateLibrary, name: str) -> errors.Invalid:
    with pytest.raises(errors.Invalid) as caught:
        found.get_template(name)
    return caught.value


def test_a_template_that_is_too_long_no_utf_8_or_a_folder_is_refused(folder: Path) -> None:
    write(folder, "long").write_text("x" * (limits.template_bytes_max + 1))
    write(folder, "latin").write_bytes(b"---\nname: caf\xe9\n---\n")
    (folder / "folder.md").mkdir()
    found = load_templates(folder)
    assert "more than" in refusal(found, "long").message
    assert refusal(found, "latin").data["line"] == 2
    assert "cannot be read" in refusal(found, "folder").message


def test_a_project_with_too_many_templates_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates.limits, "templates_max", 1)
    write(folder, "one")
    write(folder, "two")
    with pytest.raises(errors.Invalid, match="at most 1"):
        load_templates(folder)
