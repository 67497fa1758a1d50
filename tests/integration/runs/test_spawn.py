"""One spawned session: what it holds, what it is told, what its end means."""

from __future__ import annotations

import json

import pytest

from maestro.testing.supervised import wait_until
from maestro.testing.workshop import Workshop


def test_a_spawn_claims_its_task_and_a_good_end_completes_it(shop: Workshop) -> None:
    shop.create_task("Parser")
    made = shop.spawn_session("--task", "#1", "--name", "parser", "--", "sh", "-c", "read -r line; echo did $line")
    task = shop.call_json("task", "show", "#1")
    assert (task["status"], task["holder"]) == ("in_progress", made["id"])
    shop.run_maestro("session", "prompt", "parser", "the work")
    assert shop.wait_for_session_end("parser")["status"] == "completed"
    assert shop.task_status("#1") == "completed"
    assert "did the work" in shop.run_maestro("session", "logs", "parser")


def test_a_bad_end_fails_the_task_with_the_last_words(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.spawn_session("--task", "#1", "--name", "parser", "--", "sh", "-c", "echo no such grammar; exit 3")
    assert shop.wait_for_session_end("parser")["status"] == "failed"
    task = shop.call_json("task", "show", "#1")
    assert task["status"] == "failed"
    assert "exit code 3" in task["reason"] and "no such grammar" in task["reason"]


def test_a_program_that_is_not_there_fails_and_says_so(shop: Workshop) -> None:
    shop.create_task("Parser")
    shop.run_maestro(
        "session", "spawn", "--task", "#1", "--name", "parser", "--", "no-such-program-anywhere", exits=1
    )
    assert shop.wait_for_session_end("parser")["status"] == "failed"
    assert "no-such-program-anywhere" in shop.run_maestro("session", "explain", "parser")


def test_what_is_not_ready_is_refused_and_nothing_is_left_of_it(shop: Workshop) -> None:
    shop.create_task("First")
    shop.create_task("Second", "--depends-on", "#1")
    before = shop.call_json("session", "list")["sessions"]
    assert "vc#1" in shop.run_maestro("session", "spawn", "--task", "#2", "--", "true", exits=5)
    assert shop.call_json("session", "list")["sessions"] == before
    shop.spawn_session("--task", "#1", "--name", "one", "--", "cat")
    shop.run_maestro("session", "spawn", "--task", "#1", "--", "true", exits=5)
    assert shop.task_status("#1") == "in_progress"


def test_what_an_agent_finds_in_its_environment(shop: Workshop) -> None:
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


def test_a_directive_is_in_the_manifest_and_in_the_mail(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--subject", "Parser", "--message", "Keep it small.", "--", "cat")
    told = shop.call_json("manifest", "show", "parser")["directive"]
    assert (told["subject"], told["text"]) == ("Parser", "Keep it small.")

    def read() -> list[dict[str, object]]:
        deliveries = shop.call_json("mail", "show", told["message_id"])["deliveries"]
        return [one for one in deliveries if one["box"] == made["id"] and one["status"] == "read"]

    (delivery,) = wait_until(read, what="the assumed receipt")
    assert "assumed" in json.dumps(delivery)


def test_a_dry_run_changes_nothing(shop: Workshop) -> None:
    shop.create_task("Parser")
    before = shop.run_maestro("events", "--json")
    shown = shop.spawn_session("--task", "#1", "--message", "Do it.", "--dry-run", "--", "touch", "never")
    assert shown["dry_run"] and "<" in shown["system_prompt"] and "Do it." in shown["task_prompt"]
    assert [task["ref"] for task in shown["manifest"]["tasks"]] == ["vc#1"]
    assert before and shop.run_maestro("events", "--json") == before
    assert shop.call_json("session", "list")["sessions"] == []
    assert shop.call_json("task", "show", "#1")["ready"]


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "when it runs"])
def test_a_stop_ends_it_and_gives_its_task_back(shop: Workshop, at_once: bool) -> None:
    shop.create_task("Parser")
    shop.spawn_session("--task", "#1", "--name", "parser", "--", "sleep", "1000")
    if not at_once:
        wait_until(lambda: shop.show_session("parser")["status"] == "working", what="its start")
    shop.run_maestro("session", "stop", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "stopped"
    assert shop.call_json("task", "show", "#1")["ready"]
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")


def test_nothing_of_a_session_that_ended_is_left_but_what_it_kept(shop: Workshop) -> None:
    made = shop.spawn_session("--name", "parser", "--", "true")
    shop.wait_for_session_end("parser")
    wait_until(lambda: not shop.remaining_pids(), what="the end of every process")
    kept = {path.name for path in shop.runner_folder(made["id"]).iterdir()}
    assert kept == {
        "runner.json", "runner.lock", "runner.log", "transcript.cast", "system-prompt.xml", "task-prompt.xml"
    }  # fmt: skip
    assert (shop.runner_folder(made["id"]) / "runner.log").read_text() == ""


def test_a_resumed_session_is_the_same_one(shop: Workshop) -> None:
    shop.create_task("Parser")
    old = shop.spawn_session(
        "--task", "#1", "--name", "parser", "--message", "Small.", "--", "sh", "-c", "echo x >> n; cat"
    )
    wait_until(lambda: shop.read_words("n") == ["x"], what="its start")
    shop.run_maestro("session", "resume", "parser", exits=5)
    shop.run_maestro("session", "stop", "parser")
    shop.wait_for_session_end("parser")
    new = shop.call_json("session", "resume", "parser")
    assert (new["id"], new["name"], new["epoch"]) == (old["id"], "parser", 2)
    wait_until(lambda: shop.read_words("n") == ["x", "x"], what="its second start")
    assert shop.call_json("task", "show", "#1")["holder"] == old["id"]
    told = shop.call_json("manifest", "show", "parser")
    assert "Small." in told["directive"]["text"] and told["resumed"]["status"] == "stopped"
    wait_until(lambda: shop.show_session("parser")["status"] == "working", what="its report")
    shop.run_maestro("session", "stop", "parser")
    assert shop.wait_for_session_end("parser")["status"] == "stopped", "it can be stopped as often as it is started"


def test_an_environment_that_is_not_text_does_not_keep_a_session_from_starting(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.live.stop()
    monkeypatch.setenv("ODD", b"caf\xe9".decode("utf-8", "surrogateescape"))
    shop.live.start()
    shop.spawn_session("--name", "odd", "--", "sh", "-c", 'printf %s "$ODD" > got')
    assert shop.wait_for_session_end("odd")["status"] == "completed"
    assert (shop.repo / "got").read_bytes() == b"caf\xe9"
