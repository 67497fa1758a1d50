"""This version opens a data directory of any earlier schema: the stored data stays the same, and work continues."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from maestro.core.clock import from_micros
from maestro.domain.callers import Caller
from maestro.operations import (
    asks,
    documents,
    issues,
    mail,
    members,
    runs,
    server,
    sessions,
    spawning,
    tasks,
    teams,
)
from maestro.operations.base import Operation
from maestro.server.app import Server
from maestro.store.layout import DATABASE
from maestro.store.sqlite.migration_scripts import migration_scripts
from maestro.testing.clock import FakeClock

SCHEMAS = range(1, len(migration_scripts()) + 1)
NEWEST = len(migration_scripts())
Table = list[dict[str, Any]]
WriteHome = Callable[..., Path]


def tables_of(path: Path) -> dict[str, Table]:
    """Return the rows of all tables, except the word index and SQLite's own tables."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        names = [row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        own = [name for name in names if not name.startswith(("message_words", "sqlite_"))]
        return {name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")] for name in own}


def schema_of(database: sqlite3.Connection) -> dict[str, str]:
    found = database.execute("SELECT name, sql FROM sqlite_master WHERE sql NOTNULL").fetchall()
    return {name: " ".join(sql.split()) for name, sql in found}


@pytest.fixture(scope="module")
def fresh_schema() -> dict[str, str]:
    """Return the schema of a new database."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        for script in migration_scripts():
            database.executescript(script)
        return schema_of(database)


async def open_and_close(home: Path, rows: ModuleType) -> None:
    server = Server(home, clock=FakeClock(from_micros(rows.AT)))
    await server.background_jobs.close()
    await server.close()


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_every_field_of_an_earlier_schema_is_kept(
    schema: int, write_home: WriteHome, rows: ModuleType, fresh_schema: dict[str, str]
) -> None:
    home = write_home(schema)
    before = tables_of(home / DATABASE)
    assert all(before[name] for name in before), "a fixture must have rows in every table"
    await open_and_close(home, rows)
    after = tables_of(home / DATABASE)
    for name, table in before.items():
        renamed, dropped = rows.RENAMED_COLUMNS.get(name, {}), rows.DROPPED_COLUMNS.get(name, set())
        found = after[rows.RENAMED_TABLES.get(name, name)]
        columns = [key for key in table[0] if key not in dropped]
        kept = [{key: row[key if key in row else renamed[key]] for key in columns} for row in found]
        assert kept == [{key: row[key] for key in columns} for row in table], f"{name} of schema {schema}"
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database:
        assert schema_of(database) == fresh_schema
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        assert database.execute("PRAGMA user_version").fetchone() == (NEWEST,)
    if schema < NEWEST:
        assert tables_of(home / f"{DATABASE}.schema-{schema}") == before


class Opened:
    """A fixture that the present server has opened, and calls of the person or of the fixture's sessions."""

    def __init__(self, home: Path, rows: ModuleType, person: Caller) -> None:
        self.clock = FakeClock(from_micros(rows.AT))
        self.server = Server(home, clock=self.clock)
        self.rows = rows
        self.person = person

    async def session(self, session_id: str) -> Caller:
        """Return the caller of a session, identified by its token from before the upgrade."""
        caller = await self.server.identify(token=self.rows.token_of(session_id), peer=None)
        assert caller.session_id == session_id
        return caller

    async def call(self, operation: Operation, caller: Caller | None = None, /, **fields: Any) -> Any:
        """Return the answer as plain values."""
        if "project" in operation.request.__struct_fields__:
            fields["project"] = self.rows.VC
        request = msgspec.convert(fields, operation.request)
        answer = await self.server.call(operation, request, caller=caller or self.person)
        return msgspec.to_builtins(answer, builtin_types=(bytes,))

    async def __aenter__(self) -> Opened:
        await self.server.background_jobs.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()


def assert_same(shown: dict[str, Any], row: dict[str, Any], names: str) -> None:
    """Compare the named fields of an answer with the row of the fixture."""
    assert {name: shown[name] for name in names.split()} == {name: row[name] for name in names.split()}
    assert msgspec.convert(shown["created_at"], datetime) == from_micros(row["created_at"])


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_tasks_of_an_earlier_schema_are_shown_and_can_be_changed(
    schema: int, write_home: WriteHome, rows: ModuleType, dana: Caller
) -> None:
    home = write_home(schema)
    names = "id number title description status stage parent_id member reason holder fence open_blockers created_by"
    async with Opened(home, rows, dana) as old:
        for row in rows.ROWS["tasks"]:
            assert_same(await old.call(tasks.SHOW, id=row["id"]), row, names)
        large = next(row for row in rows.ROWS["documents"] if row["blob"])
        assert (await old.call(documents.SHOW, id=large["id"]))["content"] == rows.LARGE.encode()
        await old.call(tasks.COMPLETE, await old.session(rows.ADA), id=rows.PARSER, summary="It parses.", fence=3)
        made = await old.call(tasks.CREATE, title="New", depends_on=[rows.DOCS])
        assert made["number"] == 6
        content = {"title": "Large", "file_name": "large.txt", "content": b"y" * 40_000}
        added = await old.call(documents.ADD, id=made["id"], **content)
    async with Opened(home, rows, dana) as again:
        assert (await again.call(tasks.SHOW, id=rows.PARSER))["status"] == "in_review"
        assert (await again.call(documents.SHOW, id=added["id"]))["content"] == b"y" * 40_000


@pytest.mark.parametrize("schema", [number for number in SCHEMAS if number >= 2])
async def test_mail_of_an_earlier_schema_is_shown_and_can_be_answered(
    schema: int, write_home: WriteHome, rows: ModuleType, dana: Caller
) -> None:
    home = write_home(schema)
    async with Opened(home, rows, dana) as old:
        ben, lead = await old.session(rows.BEN), await old.session(rows.LEAD)
        page = await old.call(mail.INBOX, ben)
        assert {one["id"] for one in page["messages"]} == {rows.NEWS, rows.LONG_MAIL}
        assert (await old.call(mail.SHOW, ben, id=rows.LONG_MAIL))["body"] == rows.LARGE
        for row in rows.ROWS["messages"][:2]:
            names = "id thread_id type subject body task_id"
            assert_same(await old.call(mail.SHOW, id=row["id"]), row, names)
        found = await old.call(mail.SEARCH, lead, query="grammar")
        assert [one["id"] for one in found["messages"]] == [rows.NEWS]
        await old.call(mail.REPLY, ben, id=rows.NEWS, message="Seen.")
        assert "Seen." in {one["body"] for one in (await old.call(mail.INBOX, lead))["messages"]}
        for row in rows.ROWS["asks"]:
            names = "id kind title text task_id status answer answered_by"
            assert_same(await old.call(asks.SHOW, id=row["id"]), row, names)
        await old.call(asks.ANSWER, id=rows.PERMISSION, answer="yes")
        (member,) = (await old.call(members.LIST))["members"]
        assert_same(member, rows.ROWS["members"][0], "id name role model tool permission")
        assert [one["name"] for one in (await old.call(teams.LIST))["teams"]] == ["core"]


@pytest.mark.parametrize("schema", [number for number in SCHEMAS if number >= 3])
async def test_sessions_and_runs_of_an_earlier_schema_are_shown(
    schema: int, write_home: WriteHome, rows: ModuleType, dana: Caller
) -> None:
    home = write_home(schema)
    async with Opened(home, rows, dana) as old:
        for row in rows.ROWS["sessions"]:
            shown = await old.call(sessions.SHOW, id=row["id"])
            assert_same(shown, row, "id name mode status parent_id human tool")
        (run,) = rows.ROWS["runs"]
        assert_same(await old.call(runs.SHOW, id=rows.RUN), run, "id strategy status note tool max_parallel branch")
        if schema >= 7:
            issue = await old.call(issues.SHOW, id=rows.ISSUE)
            assert_same(issue, rows.ROWS["tasks"][-1], "id title description status")


async def test_sessions_from_before_grants_get_the_default_grant(write_home: WriteHome, rows: ModuleType) -> None:
    home = write_home(13)
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database, database:
        database.execute("UPDATE spawns SET permission = 'full' WHERE session_id = ?", [rows.ADA])
        database.execute("UPDATE sessions SET mode = 'plan' WHERE id = ?", [rows.GONE])
    await open_and_close(home, rows)
    found = {row["id"]: row["grant_level"] for row in tables_of(home / DATABASE)["sessions"]}
    expected = {rows.LEAD: "edit", rows.ADA: "edit", rows.BEN: "edit", rows.GONE: "plan"}
    assert found == expected, "only the person grants full, and ada has a coordinator"


async def test_a_session_that_the_person_started_with_full_permission_keeps_the_full_grant(
    write_home: WriteHome, rows: ModuleType
) -> None:
    home = write_home(13)
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database, database:
        database.execute("UPDATE spawns SET permission = 'full' WHERE session_id = ?", [rows.ADA])
        database.execute("UPDATE sessions SET parent_id = NULL WHERE id = ?", [rows.ADA])
    await open_and_close(home, rows)
    found = {row["id"]: row["grant_level"] for row in tables_of(home / DATABASE)["sessions"]}
    assert found[rows.ADA] == "full"


async def test_keys_of_stored_json_get_their_present_names(
    write_home: WriteHome, rows: ModuleType, dana: Caller
) -> None:
    home = write_home(19)
    # The subject quotes an old key: only keys change, never texts.
    text = json.dumps({"mailbox": '"box": and "words":'}, separators=(",", ":")).replace('"mailbox"', '"box"')
    manifest = {**json.loads(rows.ROWS["spawns"][0]["manifest"]), "human": '"words":'}
    manifest["commands"] = [{"operation": "mail.wait", "words": "mail wait", "summary": "Wait."}]
    manifest["resumed"] = {"status": "failed", "ended_at": "", "last_words": "killed", "unread": 0, "messages": []}
    response = {"deliveries": [{"box": rows.ADA}], "manifest": manifest}
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database, database:
        values = (4, rows.AT, rows.VC, "mail.read", 1, "dana", rows.NEWS, text)
        database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        database.execute("UPDATE spawns SET manifest = ?", [json.dumps(manifest, separators=(",", ":")).encode()])
        database.execute(
            "UPDATE idempotency SET response = ?", [json.dumps(response, separators=(",", ":")).encode()]
        )
    async with Opened(home, rows, dana) as old:
        events = (await old.call(server.EVENTS, since=3))["events"]
        assert events[0]["data"] == {"mailbox": '"box": and "words":'}
        shown = await old.call(spawning.MANIFEST, id=rows.ADA)
        assert [command["command"] for command in shown["commands"]] == ["mail wait"]
        assert (shown["resumed"]["last_output"], shown["human"]) == ("killed", '"words":')
    (stored,) = tables_of(home / DATABASE)["idempotency"]
    answer = json.loads(stored["response"])
    assert answer["deliveries"] == [{"mailbox": rows.ADA}]
    assert answer["manifest"]["commands"][0]["command"] == "mail wait"
    assert answer["manifest"]["resumed"]["last_output"] == "killed"


async def test_mail_that_an_earlier_version_pushed_gets_the_present_name_of_the_way(
    write_home: WriteHome, rows: ModuleType, dana: Caller
) -> None:
    home = write_home(19)
    data = {"by": rows.ADA, "via": "wake", "subject": '"via":"wake"'}
    with contextlib.closing(sqlite3.connect(home / DATABASE)) as database, database:
        values = (4, rows.AT, rows.VC, "mail.read", 1, "dana", rows.NEWS, json.dumps(data, separators=(",", ":")))
        database.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
        database.execute("UPDATE deliveries SET via = 'wake' WHERE via = 'hook'")
    async with Opened(home, rows, dana) as old:
        (event,) = (await old.call(server.EVENTS, since=3))["events"]
        assert event["data"] == {**data, "via": "push"}
    ways = [row["via"] for row in tables_of(home / DATABASE)["deliveries"]]
    assert "push" in ways and "wake" not in ways


async def test_earlier_asks_and_new_asks_are_listed_in_the_order_of_their_creation(
    write_home: WriteHome, rows: ModuleType, dana: Caller
) -> None:
    home = write_home(19)
    async with Opened(home, rows, dana) as old:
        old.clock.advance(60)
        new = await old.call(asks.CREATE, await old.session(rows.ADA), title="New?")
        assert rows.PERMISSION.startswith("req_") and new["id"].startswith("ask_")
        first = await old.call(asks.LIST, all=True, limit=1)
        then = await old.call(asks.LIST, all=True, cursor=first["cursor"])
        listed = [ask["id"] for ask in (*first["asks"], *then["asks"])]
        assert listed == [rows.QUESTION, rows.PERMISSION, new["id"]]
        answered = await old.call(asks.ANSWER, id=rows.PERMISSION, answer="yes")
        assert (answered["id"], answered["status"]) == (rows.PERMISSION, "answered")
