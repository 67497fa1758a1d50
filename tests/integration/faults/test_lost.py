"""Killed agents become lost within seconds. A parent or the person gets a lost coordinator's workers and mail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from maestro.testing.live import PYTHON_CLIENT

SECONDS_MAX = 60.0
LOOKS_MAX = 400
# Much longer than the grace period after the end of a process, and much shorter than a lease.
SOON = "45s"
SLEEPS = ("sleep", "600")
# An agent that waits for mail after a line of input. The command is its child and writes to its pipe.
WAITS = (
    sys.executable,
    "-c",
    "import json, subprocess, sys\n"
    "sys.stdin.readline()\n"
    "words = [*json.loads(sys.argv[1]), 'mail', 'wait', '--timeout', '10m']\n"
    "subprocess.run(words, stdout=subprocess.PIPE)",
    json.dumps(PYTHON_CLIENT),
)

Spawn = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start agents, and kill the remaining agents after the test."""
    begun: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **options: Any) -> subprocess.Popen[bytes]:
        begun.append(subprocess.Popen(words or SLEEPS, stdin=subprocess.PIPE, **options))
        return begun[-1]

    yield start
    for process in begun:
        process.kill()
        process.communicate(timeout=SECONDS_MAX)


def begin_to_wait(office: Any, spawn: Spawn, name: str, *words: str) -> subprocess.Popen[bytes]:
    """Return an agent during a wait. The agent has no token: the server identifies it by its process."""
    agent = spawn(*WAITS, env=office.server.environment(), cwd=office.folder)
    office.join(name, *words, "--pid", str(agent.pid))
    assert agent.stdin is not None
    agent.stdin.write(b"go\n")
    agent.stdin.flush()
    for _ in range(LOOKS_MAX):
        if office.person.run("session", "explain", name)["has_sign_of_life"]:
            return agent
    raise AssertionError(f"{name} never called")


def kill(*agents: subprocess.Popen[bytes]) -> None:
    for agent in agents:
        agent.kill()
        agent.communicate(timeout=SECONDS_MAX)


def subjects(messages: list[dict[str, Any]]) -> list[str]:
    return [message["subject"] for message in messages]


@pytest.mark.slow
def test_killed_agents_become_lost_and_silent_agents_do_not(office: Any, spawn: Spawn) -> None:
    agents = {name: spawn() for name in ("reaped", "zombie", "talked", "lives")}
    seats = {name: office.join(name, "--pid", str(agent.pid)) for name, agent in agents.items()}
    waits = begin_to_wait(office, spawn, "waited")
    waits_on = begin_to_wait(office, spawn, "waits-on")
    seats["talked"].run("whoami")
    agents["zombie"].kill()  # and no process reads its exit status
    kill(agents["reaped"], agents["talked"], waits)
    lost = ["reaped", "talked", "waited", "zombie"]
    office.person.run("session", "wait", ",".join(lost), "--until", "lost", "--timeout", SOON)
    assert office.person.run("session", "show", "lives")["status"] == "working"
    assert office.person.run("session", "show", "waits-on")["status"] == "working"
    assert waits_on.poll() is None
    assert sorted(subjects(office.person.run("mail", "inbox")["messages"])) == [f"{name} is lost" for name in lost]


@pytest.mark.slow
def test_an_agent_that_is_killed_while_no_server_runs_becomes_lost(office: Any, spawn: Spawn) -> None:
    killed, lives = spawn(), spawn()
    office.join("killed", "--pid", str(killed.pid))
    office.join("lives", "--pid", str(lives.pid))
    office.server.kill()
    kill(killed)
    office.server.start()
    office.person.run("session", "wait", "killed", "--until", "lost", "--timeout", SOON)
    assert office.person.run("session", "show", "lives")["status"] == "working"


@pytest.fixture
def families(office: Any, spawn: Spawn) -> dict[str, Any]:
    """Register two coordinators with two workers each. One coordinator has a parent, the other has none."""
    boss = office.join("boss", "--mode", "coordinate")
    agents = {name: spawn() for name in ("lead", "alone")}
    lead = office.join("lead", "--mode", "coordinate", "--parent", "boss", "--pid", str(agents["lead"].pid))
    alone = office.join("alone", "--mode", "coordinate", "--pid", str(agents["alone"].pid))
    found = {"boss": boss, "lead": lead, "alone": alone}
    for name, parent in [("w1", "lead"), ("w2", "lead"), ("a1", "alone"), ("a2", "alone")]:
        found[name] = office.join(name, "--parent", parent)
    office.send("lead", "unread", by=found["w1"])
    office.send("alone", "also unread", by=found["a1"])
    found["kill"] = lambda: kill(*agents.values())
    return found


def waited(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    out, err = process.communicate(timeout=SECONDS_MAX)
    assert process.returncode == 0, err
    messages: list[dict[str, Any]] = json.loads(out)["messages"]
    return messages


@pytest.mark.slow
def test_workers_and_mail_of_a_killed_coordinator_go_to_its_parent_or_to_the_person(
    office: Any, families: dict[str, Any]
) -> None:
    boss, w1, w2, a1 = (families[name] for name in ("boss", "w1", "w2", "a1"))
    waiting = [families[name].begin("mail", "wait", "--json") for name in ("w1", "w2", "a1", "a2")]
    families["kill"]()
    office.person.run("session", "wait", "lead,alone", "--until", "lost", "--timeout", SOON)
    # The workers are told who replaces the lost coordinator: its parent, or else the person.
    expected = [("lead", "boss"), ("lead", "boss"), ("alone", "human"), ("alone", "human")]
    for seat, process, (name, instead) in zip((w1, w2, a1, None), waiting, expected, strict=True):
        notice, *more = waited(process)
        assert notice["subject"] == f"Your coordinator {name} is lost" and notice["sender"]["kind"] == "maestro"
        assert instead in notice["body"] and notice["priority"] == "high"
        if name == "lead" and not more:
            more = seat.run("mail", "wait")["messages"]
        assert subjects(more) == (["boss is your coordinator now"] if name == "lead" else [])
    assert w1.run("whoami")["coordinator"]["name"] == "boss"
    assert not a1.run("whoami")["coordinator"]["fresh"]
    (ask,) = office.person.run("ask", "list")["asks"]
    assert "alone is lost" in ask["title"] and "adopt by boss" in ask["choices"]
    # Unread mail of the lost coordinator has gone to its parent or to the person, with a reason.
    taken = "You are the coordinator of lead's workers now"
    assert_told(boss, "unread", "lead has ended (lost)", also=["lead is lost", taken])
    assert_told(office.person, "also unread", "alone has ended (lost)", also=["alone is lost"])
    # New mail for the lost coordinator goes the same way, with every form of its address.
    for words, reason in (
        (["--to-coordinator"], None),
        (["coordinator"], None),
        (["lead"], "lead has ended (lost)"),
        ([families["lead"].id], "lead has ended (lost)"),
    ):
        send(w1, "late", *words)
        assert_told(boss, "late", reason)
    for words in (["--to-coordinator"], ["alone"]):
        send(a1, "late", *words)
        assert_told(office.person, "late", "alone has ended (lost)")
    # The person chooses a new coordinator for the other workers, and later mail goes to the new coordinator.
    office.person.run("ask", "answer", ask["id"], "adopt by boss")
    assert subjects(a1.run("mail", "wait")["messages"]) == ["boss is your coordinator now"]
    assert a1.run("whoami")["coordinator"]["name"] == "boss"
    taken = "You are the coordinator of alone's workers now"
    assert subjects(boss.run("mail", "wait")["messages"]) == [taken]
    send(a1, "new", "--to-coordinator")
    assert_told(boss, "new", None)
    send(w2, "old address", "alone")
    assert_told(boss, "old address", "alone has ended (lost)")
    assert subjects(boss.run("mail", "inbox")["messages"]) == []


def send(seat: Any, subject: str, *to: str) -> None:
    seat.run("mail", "send", *to, "--subject", subject, "--message", "text")


def assert_told(seat: Any, subject: str, reason: str | None, *, also: list[str] | None = None) -> None:
    """Assert that the inbox contains exactly this message, with its reason, and the other named messages."""
    words = ["--count", str(1 + len(also or []))]
    found = {message["subject"]: message["reason"] for message in seat.run("mail", "wait", *words)["messages"]}
    assert set(found) == {subject, *(also or [])}
    told = found[subject]
    assert told is None if reason is None else reason in (told or ""), told


@pytest.mark.slow
def test_mail_of_a_lost_session_reaches_the_person_when_no_parent_is_left(
    office: Any, families: dict[str, Any]
) -> None:
    """The parent of the lost session ends before it reads the mail, so the mail goes to the person."""
    families["kill"]()
    office.person.run("session", "wait", "lead,alone", "--until", "lost", "--timeout", SOON)
    office.person.run("session", "end", "boss")
    wanted = {"unread", "also unread"}
    for _ in range(LOOKS_MAX):
        found = office.person.run("mail", "inbox", "--all", "--peek")["messages"]
        if wanted <= set(subjects(found)):
            break
    assert wanted <= set(subjects(found))
    assert all(message["reason"] for message in found if message["subject"] in wanted)
