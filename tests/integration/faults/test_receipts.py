"""A receipt is never early: mail counts as read only after a client has printed it completely."""

from __future__ import annotations

import array
import fcntl
import os
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.core import limits
from maestro.store.layout import SOCKET
from maestro.testing.raw import RawCommand
from maestro.wire import frames

SECONDS_MAX = 30.0
LOOKS_MAX = 400
PIPE_BYTES = 1 << 16
Act = Callable[[RawCommand], None]


@pytest.fixture
def worker(office: Any) -> Any:
    return office.join("w")


def ask(worker: Any, *words: str) -> RawCommand:
    """Send a command of the worker as raw frames."""
    return RawCommand(worker.server.home / SOCKET, *words, environment=worker.env, directory=str(worker.folder))


def settle(office: Any, message: str, worker: Any, status: str) -> None:
    """Wait until the server has stored the status. No client is left that could change the status later."""
    told = []
    for _ in range(LOOKS_MAX):
        told.append(office.receipts(message)[worker.id])
        assert "read" not in told or status == "read", "the mail counts as read, but no client has printed it"
        if told[-1] == status:
            return
    raise AssertionError(f"it should be {status}, but is {told[-1]}")


def unread(worker: Any) -> list[str]:
    return [message["subject"] for message in worker.run("mail", "inbox", "--peek")["messages"]]


def send_much(office: Any, *, to: str = "w") -> list[str]:
    """Send more mail than any pipe or socket holds, in bodies that are short enough for an inbox."""
    text = "x" * (limits.inbox_body_chars_max - 1000)
    return [office.send(to, f"m{number}", "--message", text) for number in range(10)]


# A client that dies.


@pytest.mark.parametrize("words", [("mail", "inbox"), ("mail", "inbox", "--json"), ("mail", "wait")], ids=" ".join)
def test_mail_stays_unread_when_a_client_dies_between_the_answer_and_its_confirmation(
    office: Any, worker: Any, words: tuple[str, ...]
) -> None:
    message = office.send("w", "careful")
    for _ in range(3):
        command = ask(worker, *words)
        assert command.read_to(b"C") is not None and b"careful" in command.out
        command.close_connection()
        settle(office, message, worker, "delivered")
        assert unread(worker) == ["careful"]
    assert worker.run("mail", "inbox")["messages"][0]["id"] == message
    settle(office, message, worker, "read")
    assert worker.run("mail", "inbox")["messages"] == []


def test_mail_stays_unread_when_a_client_dies_before_it_reads_the_answer(office: Any, worker: Any) -> None:
    message = office.send("w", "careful")
    for _ in range(20):
        ask(worker, "mail", "inbox").close_connection()
        ask(worker, "mail", "wait").close_connection()
    assert unread(worker) == ["careful"]
    assert office.receipts(message)[worker.id] in ("sent", "delivered")


def test_mail_stays_unread_when_a_client_dies_in_the_middle_of_the_answer(office: Any, worker: Any) -> None:
    messages = send_much(office)
    command = ask(worker, "mail", "inbox")
    assert len(command.sock.recv(1000)) > 0
    command.close_connection()
    assert unread(worker) == [f"m{number}" for number in range(10)]
    assert {office.receipts(message)[worker.id] for message in messages} <= {"sent", "delivered"}


def test_mail_is_read_when_a_client_dies_right_after_its_confirmation(office: Any, worker: Any) -> None:
    """The client had printed the mail before it died."""
    message = office.send("w", "careful")
    command = ask(worker, "mail", "inbox")
    assert command.read_to(b"C") is not None
    command.confirm_output()
    command.close_connection()
    settle(office, message, worker, "read")
    assert unread(worker) == []


# A client that sends another frame instead of a confirmation.


def say(kind: bytes) -> Act:
    return lambda command: command.sock.sendall(frames.pack_frame(kind, b""))


@pytest.mark.parametrize("act", [say(b"N"), say(b"D"), say(b"R"), say(b"?")], ids=["N", "D", "R", "nonsense"])
def test_mail_stays_unread_after_a_frame_that_is_no_confirmation(office: Any, worker: Any, act: Act) -> None:
    message = office.send("w", "careful")
    command = ask(worker, "mail", "inbox")
    assert command.read_to(b"C") is not None
    act(command)
    command.read_to(b"X")
    command.close_connection()
    settle(office, message, worker, "delivered")
    assert unread(worker) == ["careful"]


def test_an_unexpected_confirmation_ends_the_connection_and_marks_no_mail(office: Any, worker: Any) -> None:
    command = ask(worker, "mail", "wait")
    assert command.read_to(b"W") is not None
    command.confirm_output()
    assert command.read_to(b"X") is None, "the server must end the connection"
    command.close_connection()
    message = office.send("w", "careful")
    assert unread(worker) == ["careful"]
    assert office.receipts(message)[worker.id] == "sent"


# A body that is cut.


def test_a_message_with_a_cut_body_is_read_after_it_is_shown_completely(
    office: Any, worker: Any, tmp_path: Path
) -> None:
    text = "long " * limits.inbox_body_chars_max
    (tmp_path / "long.md").write_text(text)
    message = office.send("w", "long", "--message-file", str(tmp_path / "long.md"))
    for _ in range(2):
        (shown,) = worker.run("mail", "inbox")["messages"]
        assert shown["truncated"] and len(shown["body"]) < len(text)
        settle(office, message, worker, "delivered")
    command = ask(worker, "mail", "show", message)
    assert command.read_to(b"C") is not None
    command.close_connection()
    settle(office, message, worker, "delivered")
    assert worker.run("mail", "show", message)["body"] == text
    settle(office, message, worker, "read")
    assert unread(worker) == []


def test_a_message_that_is_cut_because_the_page_is_full_is_not_read(office: Any, worker: Any) -> None:
    """Each body is short enough, but all bodies are too long for a page. The last messages are cut and come again."""
    text = "x" * (limits.inbox_body_chars_max - 1)
    messages = [office.send("w", f"m{number}", "--message", text) for number in range(12)]
    first = worker.run("mail", "inbox")["messages"]
    cut = [message["id"] for message in first if message["truncated"]]
    assert len(first) == 12 and cut == messages[10:]
    for message in messages[:10]:
        assert office.receipts(message) == {worker.id: "read"}
    for message in cut:
        settle(office, message, worker, "delivered")
    second = worker.run("mail", "inbox")["messages"]
    assert [(message["id"], message["body"]) for message in second] == [(message, text) for message in cut]
    assert all(office.receipts(message) == {worker.id: "read"} for message in cut)


# Requests over HTTP.


def test_a_request_without_a_cursor_marks_no_mail_as_read(office: Any, worker: Any, connect: Any) -> None:
    message, api = office.send("w", "careful"), connect(office.server, worker.token)
    for _ in range(2):
        page = api.call("GET", "/api/mail/inbox")
        assert [one["id"] for one in page["messages"]] == [message]
    for verb, path in [
        ("GET", f"/api/mail/{message}"),
        ("GET", f"/api/mail/thread/{message}"),
        ("POST", "/api/mail/wait"),
        ("GET", "/api/mail/inbox"),
    ]:
        api.call(verb, path)
        settle(office, message, worker, "delivered")
    assert api.call("GET", "/api/mail/inbox", cursor=page["cursor"])["messages"] == []
    settle(office, message, worker, "read")


def test_the_cursor_of_another_session_marks_no_mail_as_read(office: Any, worker: Any, connect: Any) -> None:
    message, stranger = office.send("w", "careful"), office.join("stranger")
    cursor = connect(office.server, worker.token).call("GET", "/api/mail/inbox")["cursor"]
    api = connect(office.server, stranger.token)
    api.call("POST", "/api/mail/confirm", receipt=cursor)
    api.call("GET", "/api/mail/inbox", cursor=cursor)
    connect(office.server).call("POST", "/api/mail/confirm", receipt=cursor)
    settle(office, message, worker, "delivered")
    assert unread(worker) == ["careful"]


def test_the_cursor_of_a_cut_body_marks_the_mail_only_as_delivered(office: Any, worker: Any, connect: Any) -> None:
    message = office.send("w", "long", "--message", "x" * (limits.inbox_body_chars_max + 1))
    api = connect(office.server, worker.token)
    cursor = api.call("GET", "/api/mail/inbox")["cursor"]
    assert [one["id"] for one in api.call("GET", "/api/mail/inbox", cursor=cursor)["messages"]] == [message]
    settle(office, message, worker, "delivered")


# Output that is lost.


def end(process: subprocess.Popen[bytes], code: int) -> None:
    _, err = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == code, (process.returncode, err)


def test_mail_stays_unread_when_the_reader_of_the_output_takes_one_byte(
    office: Any, worker: Any, client: tuple[str, ...]
) -> None:
    """Act like `maestro mail inbox | head -c 1`."""
    messages = send_much(office)
    process = worker.begin("mail", "inbox", program=client)
    head = subprocess.Popen(["head", "-c", "1"], stdin=process.stdout, stdout=subprocess.PIPE)
    process.stdout.close()
    process.stdout = None
    assert len(head.communicate(timeout=SECONDS_MAX)[0]) == 1
    end(process, 141)
    assert unread(worker) == [f"m{number}" for number in range(10)]
    assert {office.receipts(message)[worker.id] for message in messages} <= {"sent", "delivered"}


def test_mail_stays_unread_when_the_output_pipe_has_no_reader(
    office: Any, worker: Any, client: tuple[str, ...]
) -> None:
    message = office.send("w", "careful")
    reading, writing = os.pipe()
    os.close(reading)
    process = worker.begin("mail", "inbox", program=client, stdout=writing)
    os.close(writing)
    end(process, 141)
    settle(office, message, worker, "delivered")
    assert unread(worker) == ["careful"]


@pytest.mark.parametrize("words", [("mail", "inbox"), ("mail", "wait")], ids=" ".join)
def test_mail_stays_unread_when_the_output_goes_to_a_full_disk(
    office: Any, worker: Any, client: tuple[str, ...], words: tuple[str, ...]
) -> None:
    message = office.send("w", "careful")
    with Path("/dev/full").open("wb") as full:
        end(worker.begin(*words, program=client, stdout=full), 1)
    settle(office, message, worker, "delivered")
    assert unread(worker) == ["careful"]


def test_mail_stays_unread_when_the_client_is_killed_while_it_prints(
    office: Any, worker: Any, client: tuple[str, ...]
) -> None:
    messages = send_much(office)
    process = worker.begin("mail", "inbox", program=client)
    printed = array.array("i", [0])
    for _ in range(LOOKS_MAX):
        fcntl.ioctl(process.stdout, termios.FIONREAD, printed)
        if printed[0] >= PIPE_BYTES:
            break
        office.server.run_command("status")
    process.kill()
    end(process, -9)
    assert printed[0] >= PIPE_BYTES, "the client must fill the pipe before the kill"
    assert unread(worker) == [f"m{number}" for number in range(10)]
    assert {office.receipts(message)[worker.id] for message in messages} <= {"sent", "delivered"}


def test_a_peek_or_a_look_by_the_person_marks_no_mail(office: Any, worker: Any) -> None:
    message = office.send("w", "careful")
    assert unread(worker) == ["careful"]
    assert [one["id"] for one in office.person.run("mail", "inbox", "--of", "w")["messages"]] == [message]
    assert [one["id"] for one in worker.run("mail", "wait", "--peek")["messages"]] == [message]
    assert office.receipts(message)[worker.id] == "sent"
