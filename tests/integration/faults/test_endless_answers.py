"""Agents that answer each other without end are stopped, and the person is told once."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import mail
from maestro.operations import mail_shapes as shapes
from maestro.server.app import Server
from maestro.services.housekeeping.rate_alarms import AlarmJob
from maestro.testing.live import PYTHON_CLIENT

SECONDS_MAX = 100.0
CONFLICT = 5
# An agent that answers every message with thanks, also after a refusal.
POLITE = """
import json, subprocess, sys
client = json.loads(sys.argv[1])
for _ in range(200):
    words = ["mail", "wait", "--timeout", "3s", "--debounce", "0ms", "--json"]
    got = subprocess.run([*client, *words], capture_output=True)
    if got.returncode == 3:
        break
    for message in json.loads(got.stdout)["messages"]:
        words = ["mail", "reply", message["id"], "--message", "Thank you!", "--json"]
        done = subprocess.run([*client, *words], capture_output=True)
        told = json.loads(done.stdout or done.stderr)
        print(json.dumps([done.returncode, told.get("code", "")]), flush=True)
"""

Begin = Callable[[Any], subprocess.Popen[bytes]]


@pytest.fixture
def begin_agent() -> Iterator[Begin]:
    """Start agents that answer every message."""
    begun: list[subprocess.Popen[bytes]] = []

    def begin(seat: Any) -> subprocess.Popen[bytes]:
        program = (sys.executable, "-c", POLITE)
        begun.append(seat.begin(json.dumps(PYTHON_CLIENT), program=program))
        return begun[-1]

    yield begin
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def outcomes(agents: list[subprocess.Popen[bytes]]) -> list[tuple[int, str]]:
    """Return the exit code and the error code of each reply."""
    found: list[tuple[int, str]] = []
    for agent in agents:
        out, err = agent.communicate(timeout=SECONDS_MAX)
        assert agent.returncode == 0, err
        found += [tuple(json.loads(line)) for line in out.splitlines()]
    return found


def told(office: Any) -> list[str]:
    """Return the subjects of the notices to the person."""
    messages = office.person.run("mail", "inbox", "--all", "--peek")["messages"]
    return [message["subject"] for message in messages if message["sender"]["kind"] == "maestro"]


def hear(office: Any) -> None:
    """Wait until the person has unread mail."""
    office.person.run("mail", "wait", "--peek", "--timeout", "30s")


def test_two_agents_that_answer_each_other_are_stopped_and_the_person_is_told_once(
    office: Any, begin_agent: Begin
) -> None:
    ada, bob = office.join("ada"), office.join("bob")
    agents = [begin_agent(ada), begin_agent(bob)]
    first = office.send("bob", "Hello", by=ada)
    done = outcomes(agents)
    assert done.count((0, "")) == limits.mail_hops_max, "the limit permits exactly so many replies"
    assert [outcome for outcome in done if outcome != (0, "")] == [(CONFLICT, "looping")]
    thread = office.person.run("mail", "thread", first)["messages"]
    assert len(thread) == 1 + limits.mail_hops_max
    hear(office)
    (subject,) = told(office)
    assert "ada" in subject and "bob" in subject
    # The person reads the notice. Further refused replies cause no second notice.
    (message,) = office.person.run("mail", "inbox")["messages"]
    assert first in message["body"]
    stopped = next(seat for seat in (ada, bob) if seat.id != thread[-1]["sender"]["id"])
    for _ in range(3):
        stopped.run("mail", "reply", thread[-1]["id"], "--message", "Thank you!", code=CONFLICT)
    office.send("human", "a marker", by=stopped)
    assert [one["subject"] for one in office.person.run("mail", "inbox")["messages"]] == ["a marker"]
    assert len(told(office)) == 1


def test_a_reply_of_the_person_lets_the_agents_answer_again(office: Any, begin_agent: Begin) -> None:
    """A message of the person is no automatic answer, so the count of answers starts again."""
    ada, bob = office.join("ada"), office.join("bob")
    first = office.send("bob", "Hello", by=ada)
    outcomes([begin_agent(ada), begin_agent(bob)])
    last = office.person.run("mail", "thread", first)["messages"][-1]
    asker = next(seat for seat in (ada, bob) if seat.id == last["sender"]["id"])
    answerer = next(seat for seat in (ada, bob) if seat is not asker)
    answerer.run("mail", "reply", last["id"], "--message", "again", code=CONFLICT)
    word = office.person.run("mail", "reply", last["id"], "--message", "Stop it, but tell me why.")
    asker.run("mail", "reply", word["id"], "--message", "Sorry.")
    answerer.run("mail", "reply", word["id"], "--message", "Sorry too.")


def test_a_restart_of_the_server_does_not_reset_the_count_of_answers(office: Any, begin_agent: Begin) -> None:
    ada, bob = office.join("ada"), office.join("bob")
    first = office.send("bob", "Hello", by=ada)
    last, turn = first, (bob, ada)
    for number in range(limits.mail_hops_max):
        if number % 8 == 0:
            office.server.kill()
            office.server.start()
        last = turn[number % 2].run("mail", "reply", last, "--message", "Thank you!")["id"]
    turn[limits.mail_hops_max % 2].run("mail", "reply", last, "--message", "Thank you!", code=CONFLICT)
    hear(office)
    assert len(told(office)) == 1


def test_a_session_that_sends_too_much_mail_to_a_recipient_is_refused_only_for_that_recipient(
    office: Any, connect: Any
) -> None:
    """The session sends new messages, not answers. The limit is a number of messages per minute and recipient."""
    ada, bob = office.join("ada"), office.join("bob")
    api = connect(office.server, ada.token)
    refused = []
    for number in range(limits.mail_per_minute_default + 20):
        body = json.dumps({"to": ["bob"], "subject": f"m{number}", "message": ""}).encode()
        answer, text = api.send("POST", "/api/mail", body)
        if answer.status != 200:
            refused.append(json.loads(text)["code"])
    assert refused == ["too_fast"] * 20
    api.call("POST", "/api/mail", to=["human"], subject="still heard", message="")
    api.call("POST", "/api/mail", to=["ada"], subject="to myself", message="")
    connect(office.server, bob.token).call("POST", "/api/mail", to=["ada"], subject="from bob", message="")
    for _ in range(100):
        if told(office):
            break
    assert len(told(office)) == 1


class FullDisk:
    """A store whose first write finds a full disk."""

    def __init__(self, server: Server) -> None:
        self._store = server.store
        self._is_full = True

    async def write(self, work: Any, *, quick: bool = False) -> Any:
        if self._is_full:
            self._is_full = False
            raise errors.StorageFull
        return await self._store.write(work, quick=quick)


async def test_the_person_is_told_about_too_much_mail_after_the_disk_was_full(
    server: Server, vc: str, join: Any, dana: Caller
) -> None:
    await server.background_jobs.close()
    ada, _ = await join("ada"), await join("bob")
    for number in range(limits.mail_per_minute_default + 1):
        request = shapes.SendMail(to=["bob"], subject=f"m{number}", message="")
        with contextlib.suppress(errors.TooFast):
            await server.call(mail.SEND, request, caller=ada)
    job = AlarmJob(FullDisk(server), server.parts.mail.limiter)  # type: ignore[arg-type]
    with pytest.raises(errors.StorageFull):
        await job.run_once()
    for _ in range(2):
        await job.run_once()
    page = await server.call(mail.INBOX, shapes.ReadInbox(project=vc), caller=dana)
    assert [message.subject for message in page.messages] == ["ada sends too much mail to bob"]
