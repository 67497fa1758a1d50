"""Tests that every operation gives five kinds of caller the outcome of the table, over REST and over MCP."""

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
# Resources that MCP clients read by address, with the expected texts as in the table.
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
# The server writes these tables after any call: signs of life, and the search index.
UNSTEADY = re.compile(r"message_words|search_state|sqlite_|idempotency|session_signals|hook|notifications")
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
    """Return the marked texts of an answer, without texts of the caller's own project `evil`."""
    is_own = caller in ("coordinator", "worker")
    return frozenset(name for name in outcome.markers if not (is_own and name.startswith("evil.")))


def check(world: World, one: Row, caller: str, ask: Callable[[], Outcome]) -> None:
    word, texts = expected(one, caller)
    outcome = unchanged(world, ask) if word != "ok" else ask()
    if word == "still":
        word = "ok"
    assert (outcome.word, shown(outcome, caller)) == (word, texts), outcome.text[:2000]


def unchanged(world: World, ask: Callable[[], Outcome]) -> Outcome:
    """Ask, and check that the store does not change. A background job can write meanwhile, so repeat the request."""
    for _ in range(TRIES_MAX):
        before = dump(world)
        outcome = ask()
        after = dump(world)
        if before == after:
            return outcome
    changed = [name for name in after if before.get(name) != after[name]]
    pytest.fail(f"{outcome.word}, but the store changed: {changed}")


def dump(world: World) -> dict[str, list[str]]:
    """Return every row of every table that changes only through calls, including the log."""
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


def test_the_table_has_a_row_for_every_operation() -> None:
    assert {one.operation for one in TABLE} == set(REGISTRY)


def test_the_table_calls_every_tool_over_mcp() -> None:
    called = {one.operation for one in TABLE if tool_call(one.operation, one.fields)}
    assert called == set(OFFERED) - {"mail.wait"}  # another test calls mail.wait


def test_an_agent_sees_the_secrets_of_its_own_project(world: World) -> None:
    """Check that the requests of the table reach the marked texts. Otherwise the table would prove nothing."""
    found = {name for one in TABLE for name in expected(one, "peer")[1]}
    kinds = {"description", "accept", "gate-command", "gate-output", "reason", "report", "paper-body", "paper-file"}
    kinds |= {"ask-text", "mail", "subject", "attachment", "run-words", "worktree", "directive", "identity", "model"}
    kinds |= {"transcript", "session-report", "friend-issue-text", "friend-issue-paper-body"}
    assert {f"victim.{kind}" for kind in kinds} <= found


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("one", TABLE, ids=case_ids(TABLE))
def test_a_request_over_rest_has_the_outcome_of_the_table(world: World, one: Row, caller: str) -> None:
    check(world, one, caller, lambda: ask_rest(world, caller, one.operation, one.fields))


BY_TOOL = tuple(one for one in TABLE if tool_call(one.operation, one.fields))


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("one", BY_TOOL, ids=case_ids(BY_TOOL))
def test_a_tool_call_over_mcp_has_the_outcome_of_the_table(world: World, mcp: Mcp, one: Row, caller: str) -> None:
    said = tool_call(one.operation, one.fields)
    assert said is not None
    if PROJECT in one.fields and not names_project(one.operation) and caller in SESSIONS:
        outcome = unchanged(world, lambda: mcp.ask(caller, *said))
        assert outcome.word in ("invalid", "refused"), outcome.text[:2000]
        assert not outcome.markers
        return
    if caller in WORKERS and OFFERED[one.operation][0].is_hidden_from_workers:
        one = one._replace(**{caller: "refused"})  # workers do not have the tools of coordinators
    check(world, one, caller, lambda: mcp.ask(caller, *said))


@pytest.mark.parametrize("caller", SESSIONS)
def test_a_wait_over_mcp_shows_the_mail_of_the_caller(world: World, mcp: Mcp, caller: str) -> None:
    """Check only that the mail is part of the inbox: the unread mail depends on the cases before."""
    (inbox,) = [one for one in TABLE if one.operation == "mail.inbox" and "of" not in one.fields]
    outcome = mcp.ask(caller, "wait", {"timeout": 0.001})
    assert outcome.word in ("ok", "late")
    assert shown(outcome, caller) <= expected(inbox, caller)[1]


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("uri", RESOURCES)
def test_a_resource_over_mcp_shows_only_the_expected_texts(world: World, mcp: Mcp, uri: str, caller: str) -> None:
    peer, foreign = (text if text == "missing" else f"ok {text}" for text in RESOURCES[uri])
    one = Row(uri, {}, peer, foreign, foreign)
    check(world, one, caller, lambda: mcp.read(caller, uri))
