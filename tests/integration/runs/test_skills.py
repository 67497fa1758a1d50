"""Skills that a spawn names, and those that a member has: found, told, or refused."""

from __future__ import annotations

from pathlib import Path

from maestro.testing.workshop import Workshop


def put(folder: Path, name: str, about: str) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\nFirst <look>.\n")
    return made


def told(shop: Workshop, *words: str) -> list[tuple[str, str, str | None, str]]:
    dry = shop.call_json("session", "spawn", *words, "--dry-run")
    return [(one["name"], one["summary"], one["path"], one["text"]) for one in dry["manifest"]["skills"]]


def test_a_skill_that_is_not_there_is_refused(shop: Workshop) -> None:
    put(shop.repo / ".maestro/skills", "pipes", "Of pipes.")
    put(shop.live.home / "skills", "kettles", "Of kettles.")
    said = shop.run_maestro("session", "spawn", "--skill", "valves", "--", "true", exits=6)
    assert "The skill 'valves' does not exist" in said
    assert str(shop.live.home / "skills") in said and "vc/.maestro/skills" in said
    assert "Known skills: kettles, pipes." in said
    assert shop.call_json("session", "list")["sessions"] == []


def test_it_is_given_as_a_file_or_told_in_the_prompt(shop: Workshop) -> None:
    made = put(shop.repo / ".maestro/skills", "pipes", "Of pipes.")
    assert told(shop, "--skill", "pipes", "--tool", "claude") == [("pipes", "Of pipes.", str(made), "")]
    ((*_, text),) = told(shop, "--skill", "pipes", "--tool", "gemini")
    assert text.endswith("---\nFirst <look>.\n")
    shop.spawn_session(
        "--name", "reader", "--skill", "pipes", "--", "sh", "-c", "cp $MAESTRO_TASK_PROMPT_FILE prompt"
    )
    assert shop.wait_for_session_end("reader")["status"] == "completed"
    prompt = (shop.repo / "prompt").read_text()
    assert f'<skill name="pipes" path="{made}">' in prompt
    assert "First &lt;look&gt;." in prompt


def test_what_a_member_can_do_need_not_be_a_file(shop: Workshop) -> None:
    made = put(shop.live.home / "skills", "pipes", "Of pipes.")
    shop.run_maestro("member", "create", "ada", "--role", "Plumber", "--skill", "pipes,welding")
    words = ("--member", "ada", "--tool", "codex")
    assert told(shop, *words) == [("pipes", "Of pipes.", str(made), ""), ("welding", "", None, "")]


def test_a_broken_one_stands_in_the_way_of_who_wants_it(shop: Workshop) -> None:
    made = put(shop.repo / ".maestro/skills", "pipes", "Of pipes.")
    (made / "SKILL.md").write_text("Just text.\n")
    assert "line 1: A skill must begin with" in shop.run_maestro(
        "session", "spawn", "--skill", "pipes", "--", "true", exits=2
    )
    shop.spawn_session("--name", "other", "--", "true")
    assert shop.wait_for_session_end("other")["status"] == "completed"
