"""Every operation, for five kinds of caller, over REST and over MCP: no answer and no change outside the table."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator

import pytest
from tests.security.sweep.table import TABLE, Row
from tests.security.sweep.ways import OFFERED, PROJECT, Mcp, Outcome, ask_rest, names_project, tool_call
from tests.security.sweep.world import World, open_world

from maestro.operations.registry import REGISTRY

CALLERS = ("peer", "coordinator", "worker", "ended", "nobody")
SESSIONS = ("peer", "coordinator", "worker")
WORKERS = ("peer", "worker")
# What MCP clients read by address: like the table, for the same five callers.
RESOURCES = {
    "maestro://tasks/{victim.task}": (
        "accept description gate-command paper-file paper-title reason report title",
        "title",
    ),
    "maestro://tasks/{victim.friend-issue}": (
        "friend-issue:gate,paper-file,paper-title,reason,text,title",
        "friend-issue:title",
    ),
    "maestro://thread/{victim.message}": ("attachment-name mail subject", "missing"),
}
TRIES_MAX = 3
# The server writes here whoever calls and whatever comes of it: signs of life, and its index of words.
UNSTEADY = re.compile(r"message_words|search_state|sqlite_|idempotency|session_signals|hook")
UNSTEADY_COLUMNS = {"seen_at", "lease_until", "updated_at"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_world(tmp_path_factory.mktemp("sweep")) as made:
        yield made


@pytest.fixture(scope="module")
def mcp(world: World) -> Iterator[Mcp]:
    made = Mcp(world)
    yield made
    made.close()


def case_ids(rows: tuple[Row, ...]) -> list[str]:
    return [f"{number}-{one.operation}" for number, one in enumerate(rows)]


def expected(one: Row, caller: str) -> tuple[str, frozenset[str]]:
    """Return the outcome and the marked texts that the table names for a caller."""
    word, *texts = getattr(one, caller, "unknown").split()
    return word, frozenset(name for text in texts for name in expand(text))


def expand(text: str) -> list[str]:
    project, _, name = text.rpartition(".")
    group, _, parts = name.rpartition(":")
    return [
        f"{project or 'victim'}.{group}-{part}" if group else f"{project or 'victim'}.{part}"
        for part in parts.split(",")
    ]


def shown(outcome: Outcome, caller: str) -> frozenset[str]:
    """Return the marked texts of an answer, without those of the caller's own project `evil`."""
    is_own = caller in ("coordinator", "worker")
    return frozenset(name for name in outcome.markers if not (is_own and name.startswith("evil.")))


def check(world: World, one: Row, caller: str, ask: Callable[[], Outcome]) -> None:
    word, texts = expected(one, caller)
    outcome = unchanged(world, ask) if word != "ok" else ask()
    if word == "still":
        word = "ok"
    assert (outcome.word, shown(outcome, caller)) == (word, texts), outcome.text[:2000]


def unchanged(world: World, ask: Callable[[], Outcome]) -> Outcome:
    """Ask, and see that the store stays as it is. What upkeep writes meanwhile is not written again and again."""
    for _ in range(TRIES_MAX):
        before = dump(world)
        outcome = ask()
        after = dump(world)
        if before == after:
            return outcome
    changed = [name for name in after if before.get(name) != after[name]]
    pytest.fail(f"{outcome.word}, but the store changed: {changed}")


def dump(world: World) -> dict[str, list[str]]:
    """Return every row of every steady table; the log is among them."""
    database = sqlite3.connect(f"file:{world.live.home / 'maestro.db'}?mode=ro", uri=True)
    try:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: rows_of(database, name) for name in names if not UNSTEADY.match(name)}
    finally:
        database.close()


def rows_of(database: sqlite3.Connection, table: str) -> list[str]:
    cursor = database.execute(f'SELECT * FROM "{table}"')
    kept = [place for place, column in enumerate(cursor.description) if column[0] not in UNSTEADY_COLUMNS]
    return [repr([found[place] for place in kept]) for found in cursor]


def test_every_operation_has_a_row() -> None:
    assert {one.operation for one in TABLE} == set(REGISTRY)


def test_every_operation_that_is_a_tool_is_called_as_one() -> None:
    called = {one.operation for one in TABLE if tool_call(one.operation, one.fields)}
    assert called == set(OFFERED) - {"mail.wait"}  # it has a test of its own


def test_every_project_has_secrets_that_its_own_agents_see(world: World) -> None:
    """The table is worth something only if its requests reach what they are meant to reach."""
    found = {name for one in TABLE for name in expected(one, "peer")[1]}
    kinds = {"description", "accept", "gate-command", "gate-output", "reason", "report", "paper-body", "paper-file"}
    kinds |= {"ask-text", "mail", "subject", "attachment", "run-words", "worktree", "directive", "identity", "model"}
    kinds |= {"transcript", "session-report", "friend-issue-text", "friend-issue-paper-body"}
    assert {f"victim.{kind}" for kind in kinds} <= found


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("one", TABLE, ids=case_ids(TABLE))
def test_over_rest(world: World, one: Row, caller: str) -> None:
    check(world, one, caller, lambda: ask_rest(world, caller, one.operation, one.fields))


BY_TOOL = tuple(one for one in TABLE if tool_call(one.operation, one.fields))


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("one", BY_TOOL, ids=case_ids(BY_TOOL))
def test_over_mcp(world: World, mcp: Mcp, one: Row, caller: str) -> None:
    said = tool_call(one.operation, one.fields)
    assert said is not None
    if PROJECT in one.fields and not names_project(one.operation) and caller in SESSIONS:
        outcome = unchanged(world, lambda: mcp.ask(caller, *said))
        assert outcome.word in ("invalid", "refused"), outcome.text[:2000]
        assert not outcome.markers
        return
    if caller in WORKERS and OFFERED[one.operation][0].is_hidden_from_workers:
        one = one._replace(**{caller: "refused"})  # workers do not have the tools of those who lead
    check(world, one, caller, lambda: mcp.ask(caller, *said))


@pytest.mark.parametrize("caller", SESSIONS)
def test_a_wait_over_mcp_shows_the_mail_of_the_caller(world: World, mcp: Mcp, caller: str) -> None:
    """What is unread depends on the cases before; it is always part of the whole inbox."""
    (inbox,) = [one for one in TABLE if one.operation == "mail.inbox" and "of" not in one.fields]
    outcome = mcp.ask(caller, "wait", {"timeout": 0.001})
    assert outcome.word in ("ok", "late")
    assert shown(outcome, caller) <= expected(inbox, caller)[1]


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("uri", RESOURCES)
def test_resources_over_mcp(world: World, mcp: Mcp, uri: str, caller: str) -> None:
    peer, foreign = (text if text == "missing" else f"ok {text}" for text in RESOURCES[uri])
    one = Row(uri, {}, peer, foreign, foreign)
    check(world, one, caller, lambda: mcp.read(caller, uri))
