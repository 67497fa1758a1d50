"""The migration gives codes to the choices of asks, which earlier versions recognised by their text."""

from __future__ import annotations

import json
import sqlite3

from maestro.store.sqlite.migration_scripts import migration_scripts

ASK = "INSERT INTO asks (id, project_id, session_id, kind, title, text, choices, status, answer, created_at) VALUES "


def upgrade(statements: list[str]) -> sqlite3.Connection:
    """Return a migrated database; the statements ran before the migration."""
    scripts = migration_scripts()
    number = next(index for index, script in enumerate(scripts) if "choice_codes" in script)
    database = sqlite3.connect(":memory:")
    for script in scripts[:number]:
        database.executescript(script)
    database.execute("PRAGMA foreign_keys = OFF")
    columns = [row[1] for row in database.execute("PRAGMA table_info(recoveries)")]
    attempts = "attempts" if "attempts" in columns else "tries"  # another migration renames the column
    database.executescript(";\n".join(statements).replace("{attempts}", attempts) + ";")
    database.executescript(scripts[number])
    return database


def test_the_migration_gives_codes_to_the_asks_of_the_server_only() -> None:
    choices = json.dumps(["resume", "adopt by boss", "adopt by gone", "stop its workers", "leave them"])
    database = upgrade(
        [
            "INSERT INTO sessions (id, project_id, name, mode, status, human, token_hash, lease_until, created_at, "
            "updated_at) VALUES ('ses_b', 'prj_1', 'boss', 'coordinate', 'idle', 'dana', 'x', 1, 1, 1)",
            f"{ASK} ('req_1', 'prj_1', 'ses_a', 'question', 't', 'x', '{choices}', 'open', NULL, 1)",
            f"{ASK} ('req_2', 'prj_1', 'ses_a', 'question', 't', 'x', '{choices}', 'open', NULL, 1)",
            f"""{ASK} ('req_3', 'prj_1', NULL, 'question', 't', 'x', '["accept the loss"]', 'answered',
                'accept the loss', 1)""",
            f"""{ASK} ('req_4', 'prj_1', NULL, 'question', 't', 'x', '["accept the loss"]', 'open', NULL, 1)""",
            "INSERT INTO recoveries (session_id, step, {attempts}, ask_id) VALUES ('ses_a', 'hand_over', 0, 'req_1')",
        ]
    )
    found = database.execute("SELECT id, choice_codes, answer_code FROM asks ORDER BY id").fetchall()
    database.close()
    assert [(ask_id, json.loads(codes), code) for ask_id, codes, code in found] == [
        ("req_1", ["resume", "adopt:ses_b", "adopt:", "stop", "leave"], None),
        ("req_2", [], None),
        ("req_3", ["accept_loss"], "accept_loss"),
        ("req_4", ["accept_loss"], None),
    ]
