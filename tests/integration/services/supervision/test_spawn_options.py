"""Test the options of spawned sessions: the start directory and the skills."""

from __future__ import annotations

from pathlib import Path

from maestro.testing.workshop import Workshop


def test_a_program_starts_in_the_directory_of_its_caller(shop: Workshop) -> None:
    (shop.repo / "sub").mkdir()
    program = shop.repo / "sub" / "own-agent"
    program.write_text("#!/bin/sh\npwd > where\n")
    program.chmod(0o755)
    done = shop.live.run_command("session", "spawn", "--name", "local", "--", "./own-agent", cwd=shop.repo / "sub")
    assert done.returncode == 0, done.stderr
    assert shop.wait_for_session_end("local")["status"] == "completed"
    assert (shop.repo / "sub" / "where").read_text().strip() == str((shop.repo / "sub").resolve())


def write_skill(folder: Path, name: str, about: str) -> Path:
    made = folder / name
    made.mkdir(parents=True)
    (made / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {about}\n---\nFirst <look>.\n")
    return made


def manifest_skills(shop: Workshop, *arguments: str) -> list[tuple[str, str, str | None, str]]:
    dry = shop.call_json("session", "spawn", *arguments, "--dry-run")
    return [(one["name"], one["summary"], one["path"], one["text"]) for one in dry["manifest"]["skills"]]


def test_an_unknown_skill_is_refused_with_the_known_skills(shop: Workshop) -> None:
    write_skill(shop.repo / ".maestro/skills", "pipes", "Of pipes.")
    write_skill(shop.live.home / "skills", "kettles", "Of kettles.")
    output = shop.run_maestro("session", "spawn", "--skill", "valves", "--", "true", exits=6)
    assert "The skill 'valves' does not exist" in output
    assert str(shop.live.home / "skills") in output and "vc/.maestro/skills" in output
    assert "Known skills: kettles, pipes." in output
    assert shop.call_json("session", "list")["sessions"] == []


def test_a_skill_is_given_as_a_path_or_as_text_in_the_prompt(shop: Workshop) -> None:
    made = write_skill(shop.repo / ".maestro/skills", "pipes", "Of pipes.")
    assert manifest_skills(shop, "--skill", "pipes", "--tool", "claude") == [("pipes", "Of pipes.", str(made), "")]
    ((*_, text),) = manifest_skills(shop, "--skill", "pipes", "--tool", "gemini")
    assert text.endswith("---\nFirst <look>.\n")
    shop.spawn_session(
        "--name", "reader", "--skill", "pipes", "--", "sh", "-c", "cp $MAESTRO_TASK_PROMPT_FILE prompt"
    )
    assert shop.wait_for_session_end("reader")["status"] == "completed"
    prompt = (shop.repo / "prompt").read_text()
    assert f'<skill name="pipes" path="{made}">' in prompt
    assert "First &lt;look&gt;." in prompt


def test_a_skill_of_a_member_needs_no_file(shop: Workshop) -> None:
    made = write_skill(shop.live.home / "skills", "pipes", "Of pipes.")
    shop.run_maestro("member", "create", "ada", "--role", "Plumber", "--skill", "pipes,welding")
    arguments = ("--member", "ada", "--tool", "codex")
    assert manifest_skills(shop, *arguments) == [("pipes", "Of pipes.", str(made), ""), ("welding", "", None, "")]


def test_an_invalid_skill_refuses_only_the_spawns_that_name_it(shop: Workshop) -> None:
    made = write_skill(shop.repo / ".maestro/skills", "pipes", "Of pipes.")
    (made / "SKILL.md").write_text("Just text.\n")
    assert "line 1: A skill must begin with" in shop.run_maestro(
        "session", "spawn", "--skill", "pipes", "--", "true", exits=2
    )
    shop.spawn_session("--name", "other", "--", "true")
    assert shop.wait_for_session_end("other")["status"] == "completed"
