"""Which workflows there are, whose word counts, and which one a session gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.domain.sessions import Mode
from maestro.prompts import templates
from maestro.prompts.templates import Library, load, packaged

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


def test_there_are_ten_with_the_phases_they_are_known_for() -> None:
    found = {name: " ".join(phase.name for phase in one.phases) for name, one in packaged().templates.items()}
    assert found == PHASES


def test_each_is_called_like_its_mode_and_strategy() -> None:
    for name, found in packaged().templates.items():
        assert name == f"{found.mode}-{found.strategy}"


@pytest.mark.parametrize(
    ("mode", "strategy", "name"),
    [
        (Mode.COORDINATE, "", "coordinate-default"),
        (Mode.COORDINATE, "dag", "coordinate-dag"),
        (Mode.COORDINATE, "batching", "coordinate-intelligent-batching"),
        (Mode.COORDINATE, "batch", "coordinate-intelligent-batching"),
        (Mode.EXECUTE, "", "execute-simple"),
        (Mode.EXECUTE, "plan", "execute-plan"),
        (Mode.PLAN, "", "execute-plan"),
        (Mode.PLAN, "plan", "execute-plan"),
    ],
)
def test_a_mode_and_a_strategy_choose(mode: Mode, strategy: str, name: str) -> None:
    assert packaged().choose(mode, strategy).name == name


@pytest.mark.parametrize(("mode", "strategy"), [(Mode.EXECUTE, "dag"), (Mode.PLAN, "simple"), (Mode.COORDINATE, "x")])
def test_a_strategy_of_another_mode_is_refused_with_those_there_are(mode: Mode, strategy: str) -> None:
    with pytest.raises(errors.Invalid) as caught:
        packaged().choose(mode, strategy)
    assert all(known in caught.value.hint for known in packaged().strategies(mode))


def test_a_name_or_another_word_for_it() -> None:
    assert packaged().get("coordinate-batching").name == "coordinate-intelligent-batching"
    with pytest.raises(errors.NotFound, match="nothing"):
        packaged().get("nothing")


def test_the_list_begins_with_coordinators() -> None:
    modes = [found.mode for found in packaged().listing()]
    assert modes == sorted(modes, key=list(Mode).index)


def test_a_project_without_templates_has_those_of_the_package(folder: Path) -> None:
    assert load(None) is packaged()
    assert load(folder) is packaged()
    folder.mkdir()
    (folder / "notes.txt").write_text("no template")
    assert load(folder) is packaged()


def test_a_project_overrides_and_adds(folder: Path) -> None:
    path = write(folder, "execute-simple", strategy="simple")
    write(folder, "execute-own")
    found = load(folder)
    assert found.choose(Mode.EXECUTE).phases[0].text == "Do it our way."
    assert found.choose(Mode.EXECUTE).source == str(path)
    assert found.choose(Mode.EXECUTE, "own").name == "execute-own"
    assert found.get("coordinate-dag") is packaged().get("coordinate-dag")
    assert packaged().choose(Mode.EXECUTE).source == "maestro"


def test_one_with_a_name_of_its_own_is_found_by_what_it_is_for(folder: Path) -> None:
    write(folder, "swarm", mode="coordinate", strategy="swarm")
    assert load(folder).choose(Mode.COORDINATE, "swarm").name == "swarm"
    write(folder, "other", mode="coordinate", strategy="swarm")
    with pytest.raises(errors.Ambiguous, match="other, swarm"):
        load(folder).choose(Mode.COORDINATE, "swarm")


def test_a_planner_of_the_project_s_own(folder: Path) -> None:
    write(folder, "plan-deep", mode="plan", strategy="deep")
    assert load(folder).choose(Mode.PLAN, "deep").name == "plan-deep"


def test_a_broken_one_stands_in_nobody_else_s_way(folder: Path) -> None:
    path = write(folder, "execute-simple", strategy="simple", text="no front matter")
    found = load(folder)
    assert found.choose(Mode.COORDINATE).name == "coordinate-default"
    with pytest.raises(errors.Invalid) as caught:
        found.choose(Mode.EXECUTE)
    assert caught.value.data == {"file": str(path), "line": 1}
    assert list(found.broken) == ["execute-simple"]
    assert "execute-simple" not in found.templates


def refusal(found: Library, name: str) -> errors.Invalid:
    with pytest.raises(errors.Invalid) as caught:
        found.get(name)
    return caught.value


def test_what_is_no_text_is_refused(folder: Path) -> None:
    write(folder, "long").write_text("x" * (limits.template_bytes_max + 1))
    write(folder, "latin").write_bytes(b"---\nname: caf\xe9\n---\n")
    (folder / "folder.md").mkdir()
    found = load(folder)
    assert "more than" in refusal(found, "long").message
    assert refusal(found, "latin").data["line"] == 2
    assert "cannot be read" in refusal(found, "folder").message


def test_too_many_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates.limits, "templates_max", 1)
    write(folder, "one")
    write(folder, "two")
    with pytest.raises(errors.Invalid, match="at most 1"):
        load(folder)
