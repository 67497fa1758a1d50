"""A transcript is an asciicast: each event is a complete line, tokens are hidden, and the size is limited."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from maestro.runner.transcript import TranscriptWriter

TOKEN = "mst_" + "a1B2" * 12


def open_transcript(folder: Path, bytes_max: int = 100_000) -> TranscriptWriter:
    return TranscriptWriter(str(folder), columns=80, rows=24, bytes_max=bytes_max)


def events_in(path: Path) -> list[list[Any]]:
    return [json.loads(line)[1:] for line in path.read_text().splitlines()[1:]]


def head_of(path: Path) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(path.read_text().splitlines()[0])
    return head


def test_each_event_of_a_transcript_is_written_at_once_as_a_line(tmp_path: Path) -> None:
    transcript = open_transcript(tmp_path)
    transcript.add_output(b"hello\r\n")
    transcript.add_input(b"ls\n")
    transcript.add_resize(100, 30)
    transcript.add_marker("stop by dana")
    file = tmp_path / "transcript.cast"
    assert events_in(file) == [["o", "hello\r\n"], ["i", "ls\n"], ["r", "100x30"], ["m", "stop by dana"]]
    assert (head_of(file)["version"], head_of(file)["width"], head_of(file)["height"]) == (2, 80, 24)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    transcript.close()


def test_a_character_in_two_pieces_is_joined_and_an_incomplete_character_is_replaced(tmp_path: Path) -> None:
    transcript = open_transcript(tmp_path)
    euro = "€".encode()
    transcript.add_output(euro[:1])
    transcript.add_output(euro[1:] + euro[:2])
    transcript.close()
    text = "".join(text for _, text in events_in(tmp_path / "transcript.cast"))
    assert text == "€\N{REPLACEMENT CHARACTER}"


def test_a_transcript_hides_tokens_in_output_and_input_also_in_pieces(tmp_path: Path) -> None:
    transcript = open_transcript(tmp_path)
    transcript.add_output(f"token {TOKEN[:10]}".encode())
    transcript.add_output(f"{TOKEN[10:]} end\n".encode())
    transcript.add_input(f"{TOKEN}\n".encode())
    transcript.close()
    text = (tmp_path / "transcript.cast").read_text()
    assert TOKEN not in text and TOKEN[10:] not in text and "token " in text and " end" in text


def test_a_full_transcript_becomes_the_older_file_and_the_newest_output_is_kept(tmp_path: Path) -> None:
    transcript = open_transcript(tmp_path, bytes_max=2_000)
    for number in range(200):
        transcript.add_output(f"line {number}\n".encode())
    transcript.close()
    newer, older = tmp_path / "transcript.cast", tmp_path / "transcript-older.cast"
    assert newer.stat().st_size <= 1_000 and older.stat().st_size <= 1_000
    lines = "".join(text for _, text in [*events_in(older), *events_in(newer)]).splitlines()
    assert lines[-1] == "line 199" and len(lines) > 10
    assert lines == [f"line {number}" for number in range(200 - len(lines), 200)]


def test_a_new_transcript_file_begins_with_the_present_size_of_the_terminal(tmp_path: Path) -> None:
    transcript = open_transcript(tmp_path, bytes_max=2_000)
    transcript.add_resize(132, 50)
    for _ in range(30):
        transcript.add_output(b"x" * 80)
    transcript.close()
    assert (head_of(tmp_path / "transcript.cast")["width"], head_of(tmp_path / "transcript.cast")["height"]) == (
        132,
        50,
    )


def test_a_transcript_without_a_folder_drops_events_until_the_folder_exists(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    transcript = open_transcript(folder)
    transcript.add_output(b"lost")
    folder.mkdir()
    transcript.add_output(b"kept")
    transcript.close()
    assert events_in(folder / "transcript.cast") == [["o", "kept"]]


@pytest.mark.parametrize("data", [b"", "€".encode()[:1]])
def test_output_without_a_complete_character_adds_no_event(tmp_path: Path, data: bytes) -> None:
    transcript = open_transcript(tmp_path)
    transcript.add_output(data)
    assert events_in(tmp_path / "transcript.cast") == []
    transcript.close()
