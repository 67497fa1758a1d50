"""The conversation of a runner handles pushes, answers and events in the protocol of Claude Code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maestro.runner.conversation import RunnerConversation
from maestro.runner.reports import ReportSender
from maestro.testing.frames import ClientRequest, FrameServer, ScriptedConnection
from maestro.text.redaction import HIDDEN_TOKEN
from maestro.wire.runner_order import RunnerOrder

TOKEN = "mst_" + ("a1B2" * 11)[:43]
OTHER_TOKEN = "mst_" + ("z9" * 22)[:43]
TURN_ENDED = {"type": "result", "total_cost_usd": 0.1, "usage": {"input_tokens": 5, "output_tokens": 2}}
ANSWER = {"type": "assistant", "message": {"content": [{"type": "text", "text": "one\ntwo"}]}}
ASK = {
    "type": "control_request",
    "request_id": "ask-1",
    "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "make"}},
}


class Stand:
    """A conversation in the protocol of Claude Code, with the written bytes, the shown bytes and the reports."""

    def __init__(self, folder: Path) -> None:
        self.reported: list[dict[str, Any]] = []
        self.shown, self.written = b"", b""
        opening = {"prompt": "go", "directory": str(folder)}
        order = RunnerOrder(
            "ses_x", TOKEN, str(folder / "s.sock"), str(folder), [], "/", {}, conversation="claude", opening=opening
        )
        self._reports = ReportSender(order)
        self.conversation = RunnerConversation(order, self._reports, show=self._show, write=self._write)

    def receive(self, *messages: dict[str, Any]) -> None:
        """Apply messages of the program."""
        for message in messages:
            self.conversation.process_output(json.dumps(message).encode() + b"\n")

    def take_written(self) -> list[dict[str, Any]]:
        """Return and clear the messages to the program."""
        messages = [json.loads(line) for line in self.written.splitlines()]
        self.written = b""
        return messages

    def push(self, push_id: str, **more: Any) -> dict[str, Any] | None:
        return self.conversation.handle_request("prompt", {"id": push_id, "text": f"text of {push_id}", **more})

    def receive_prompts(self) -> None:
        """Report each written prompt as a part of the conversation, as the program does."""
        for message in self.take_written():
            if message["type"] == "user":
                self.receive({**message, "isReplay": True})

    def close(self) -> list[dict[str, Any]]:
        """Close the conversation, deliver all its reports, and return the reports."""
        self.conversation.close()
        self._reports.close(seconds=10)
        return self.reported

    def take_report(self, connection: ScriptedConnection, request: ClientRequest) -> None:
        self.reported.append(json.loads(request.arguments[-1]))
        connection.send_exit(0)

    def _show(self, data: bytes) -> None:
        self.shown += data

    def _write(self, data: bytes) -> None:
        self.written += data


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    """Return a conversation that has written its first prompt."""
    monkeypatch.chdir(tmp_path)  # the runner writes the raw log into its present directory
    made = Stand(tmp_path)
    with FrameServer(tmp_path / "s.sock", made.take_report):
        made.conversation.start_conversation()
        yield made
        made.close()


def end_turn(stand: Stand) -> None:
    stand.receive_prompts()
    stand.receive(ANSWER, TURN_ENDED)


def last_number(stand: Stand) -> int:
    return int(max(report["n"] for report in stand.close()))


def test_conversation_events_are_reported_in_order_with_growing_numbers(stand: Stand) -> None:
    end_turn(stand)
    reported = stand.close()
    assert [report["n"] for report in reported] == list(range(1, len(reported) + 1))
    assert all(report["epoch"] == 1 for report in reported)


def test_text_of_the_program_is_shown_with_terminal_line_ends_and_not_reported(stand: Stand) -> None:
    end_turn(stand)
    assert b"one\r\ntwo\r\n" in stand.shown
    assert "one" not in json.dumps(stand.close())


def test_the_conversation_is_idle_only_after_the_end_of_the_turn(stand: Stand) -> None:
    assert not stand.conversation.is_idle
    end_turn(stand)
    assert stand.conversation.is_idle and stand.conversation.describe_state() == {"idle": True, "asks": []}


def test_a_repeated_push_is_written_once(stand: Stand) -> None:
    end_turn(stand)
    assert stand.push("msg_1") == {"state": "said"}
    assert [message["message"]["content"][0]["text"] for message in stand.take_written()] == ["text of msg_1"]
    assert stand.push("msg_1") == {"state": "said"}
    assert stand.take_written() == []


def test_a_push_during_an_open_ask_is_held_with_a_reason(stand: Stand) -> None:
    stand.receive_prompts()
    stand.receive(ASK)
    assert stand.conversation.describe_state()["asks"] == ["ask-1"]
    answer = stand.push("msg_1")
    assert answer is not None and answer["state"] == "held" and answer["why"]
    assert stand.take_written() == []


def test_the_answer_to_an_ask_reaches_the_program_and_releases_the_held_push(stand: Stand) -> None:
    stand.receive_prompts()
    stand.receive(ASK)
    stand.push("msg_1")
    assert stand.conversation.handle_request("answer", {"ask": "ask-1", "choice": "allow"}) == {"taken": True}
    assert [message["type"] for message in stand.take_written()] == ["control_response", "user"]
    assert stand.conversation.handle_request("answer", {"ask": "ask-1", "choice": "allow"}) == {"taken": False}


def test_a_push_for_a_known_state_is_refused_when_the_program_is_busy(stand: Stand) -> None:
    assert stand.push("msg_1", only_after=1) == {"state": "busy"}
    assert stand.push("msg_1", only_after=None) == {"state": "said"}


@pytest.mark.parametrize(("difference", "state"), [(0, "said"), (-1, "busy"), (1, "busy")])
def test_a_push_for_a_known_state_needs_the_number_of_the_last_event(
    stand: Stand, difference: int, state: str
) -> None:
    end_turn(stand)
    stand.take_written()
    number = last_number(stand) + difference
    assert stand.push("msg_1", only_after=number) == {"state": state}
    assert bool(stand.take_written()) is (state == "said")


def test_a_repeated_push_for_a_known_state_is_not_refused_as_busy(stand: Stand) -> None:
    end_turn(stand)
    assert stand.push("msg_1") == {"state": "said"}
    assert stand.push("msg_1", only_after=0) == {"state": "said"}


def test_the_conversation_writes_an_interrupt_and_leaves_other_requests_to_the_runner(stand: Stand) -> None:
    stand.take_written()
    assert stand.conversation.handle_request("interrupt", {}) == {}
    (message,) = stand.take_written()
    assert message["request"] == {"subtype": "interrupt"}
    assert stand.conversation.handle_request("attach", {}) is None


def test_the_raw_log_holds_both_directions_without_the_token(stand: Stand, tmp_path: Path) -> None:
    stand.receive({"type": "system", "note": f"{TOKEN} and {OTHER_TOKEN}"})
    stand.push("msg_1", text=f"Use {TOKEN}.")
    stand.close()
    text = (tmp_path / "conversation.jsonl").read_text()
    assert '"initialize"' in text and '"system"' in text and text.count(HIDDEN_TOKEN) == 3
    assert "a1B2" not in text and "z9z9" not in text


def test_the_raw_log_hides_a_token_that_two_reads_split(stand: Stand, tmp_path: Path) -> None:
    line = json.dumps({"type": "system", "note": f"{TOKEN}."}).encode() + b"\n"
    middle = line.index(b"mst_") + 20
    stand.conversation.process_output(line[:middle])
    stand.push("msg_1")
    stand.conversation.process_output(line[middle:])
    stand.close()
    text = (tmp_path / "conversation.jsonl").read_text()
    assert f"{HIDDEN_TOKEN}." in text and "text of msg_1" in text
    assert "a1B2" not in text


def test_the_raw_log_keeps_invalid_bytes_and_an_incomplete_last_line(stand: Stand, tmp_path: Path) -> None:
    stand.conversation.process_output(b"\xff\n")
    stand.conversation.process_output(b'{"note": "mst_begun')
    stand.close()
    assert (tmp_path / "conversation.jsonl").read_bytes().endswith(b'\xff\n{"note": "mst_begun')


def test_a_full_raw_log_is_renamed_to_the_older_file(stand: Stand, tmp_path: Path) -> None:
    for number in range(5):
        stand.receive({"type": "system", "number": number, "text": "x" * (1024 * 1024)})
    assert "initialize" in (tmp_path / "conversation-older.jsonl").read_text()
    newer = (tmp_path / "conversation.jsonl").read_text()
    assert '"number": 4' in newer and len(newer) < 4 * 1024 * 1024


def test_a_removed_raw_log_does_not_stop_the_conversation(stand: Stand, tmp_path: Path) -> None:
    end_turn(stand)
    (tmp_path / "conversation.jsonl").unlink()
    assert stand.push("msg_1") == {"state": "said"}
