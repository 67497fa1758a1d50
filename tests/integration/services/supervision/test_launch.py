"""Test the start of real programs: environment, prompt files, and the files that stay."""

from __future__ import annotations

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_the_environment_of_a_program_names_its_session_and_prompts(shop: Workshop) -> None:
    task = shop.create_task("Parser", "--description", "All of the grammar.")
    made = shop.spawn_session(
        "--task", "#1", "--name", "parser", "--subject", "Parser", "--message", "Keep <it> small.",
        "--", "sh", "-c", "env > got; cp $MAESTRO_SYSTEM_PROMPT_FILE system; cp $MAESTRO_TASK_PROMPT_FILE task;"
        " maestro whoami --json > me 2>&1; pwd > where",
    )  # fmt: skip
    assert shop.wait_for_session_end("parser")["status"] == "completed"
    got = dict(line.partition("=")[::2] for line in (shop.repo / "got").read_text().splitlines())
    assert got["MAESTRO_SESSION_ID"] == made["id"]
    assert got["MAESTRO_TASK_IDS"] == task["id"]
    assert got["MAESTRO_PROJECT_ID"] == made["project_id"]
    assert (got["MAESTRO_MODE"], got["MAESTRO_STRATEGY"]) == ("execute", made["strategy"])
    assert got["MAESTRO_SERVER_URL"] == shop.live.url
    assert not {"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "GEMINI_CLI", "MAESTRO_HOME"} & got.keys()
    assert got["ANTHROPIC_API_KEY"] == "meant"
    assert "Keep &lt;it&gt; small." in (shop.repo / "task").read_text()
    assert "All of the grammar." in (shop.repo / "task").read_text()
    assert 'mode="execute"' in (shop.repo / "system").read_text()
    assert made["id"] in (shop.repo / "me").read_text()
    assert (shop.repo / "where").read_text().strip() == str(shop.repo)


def test_an_environment_with_bytes_outside_utf8_reaches_the_program(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.live.stop()
    monkeypatch.setenv("ODD", b"caf\xe9".decode("utf-8", "surrogateescape"))
    shop.live.start()
    shop.spawn_session("--name", "odd", "--", "sh", "-c", 'printf %s "$ODD" > got')
    assert shop.wait_for_session_end("odd")["status"] == "completed"
    assert (shop.repo / "got").read_bytes() == b"caf\xe9"


def test_only_named_files_stay_in_the_folder_of_an_ended_session(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--", "true")
    shop.wait_for_session_end("parser")
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")
    kept = {path.name for path in shop.runner_folder(made["id"]).iterdir()}
    assert kept == {
        "runner.json", "runner.lock", "runner.log", "transcript.cast", "system-prompt.xml", "task-prompt.xml"
    }  # fmt: skip
    assert (shop.runner_folder(made["id"]) / "runner.log").read_text() == ""
