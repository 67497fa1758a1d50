"""Changes of settings files are planned, made, repeated after a write of another program, and undone."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from maestro.client.connect import changes, entries
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.settings_text import NotChangeable
from maestro.text import jsonc
from maestro.tools.connect_support import MaestroCommand, SettingsFormat, SettingsScope, SettingsTarget

OWN_ENTRY = '{"mcpServers": {"maestro": {"command": "mine", "args": []}}}\n'


def connect(target: SettingsTarget, records: ConnectRecords) -> None:
    change = changes.plan_connect(target, records)
    changes.apply_connect(target, change, records, tool="gemini", scope="user")


def disconnect(target: SettingsTarget, records: ConnectRecords) -> None:
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)


def data(text: str) -> Any:
    text = text.removeprefix("\ufeff")
    return jsonc.JsoncDocument(text).root.to_value() if text.strip() else {}


def test_a_disconnect_removes_the_file_and_the_folder_that_maestro_created(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.parent.rmdir()
    connect(target, records)
    assert target.path.stat().st_mode & 0o077 == 0
    assert data(target.path.read_text()).keys() == {"hooks", "mcpServers"}
    disconnect(target, records)
    assert not target.path.parent.exists()


def test_a_disconnect_keeps_a_file_that_maestro_created_and_that_holds_other_settings(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    connect(target, records)
    found = json.loads(target.path.read_text())
    target.path.write_text(json.dumps({**found, "theirs": 1}))
    disconnect(target, records)
    assert json.loads(target.path.read_text()) == {"theirs": 1}


def test_a_write_of_another_program_between_plan_and_change_is_not_lost(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text('{"a": 1}')
    others = iter(['{"a": 2}', '{"a": 3}'])

    def make() -> changes.FileChange:
        change = changes.plan_connect(target, records)
        if text := next(others, ""):
            target.path.write_text(text)  # another program writes the file between read and write
        return change

    changes.change_with_retries(
        make, lambda change: changes.apply_connect(target, change, records, tool="gemini", scope="user")
    )
    assert data(target.path.read_text())["a"] == 3
    disconnect(target, records)
    assert target.path.read_text() == '{"a": 3}'


def test_a_file_that_another_program_keeps_writing_is_not_changed(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text("{}")
    numbers = iter(range(100))

    def make() -> changes.FileChange:
        change = changes.plan_connect(target, records)
        target.path.write_text(json.dumps({"n": next(numbers)}))
        return change

    with pytest.raises(NotChangeable, match="keeps writing"):
        changes.change_with_retries(
            make, lambda change: changes.apply_connect(target, change, records, tool="gemini", scope="user")
        )
    assert json.loads(target.path.read_text()).keys() == {"n"}


def test_an_mcp_entry_of_the_person_is_kept_and_the_plan_notes_it(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    before = OWN_ENTRY
    target.path.write_text(before)
    assert "is not changed" in changes.plan_connect(target, records).notes[0]
    connect(target, records)
    target.path.write_text(target.path.read_text() + "\n")
    disconnect(target, records)
    assert data(target.path.read_text())["mcpServers"]["maestro"]["command"] == "mine"


def test_a_disconnect_keeps_an_equal_mcp_entry_from_before_the_connection(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text(json.dumps({"mcpServers": {"maestro": dict(target.mcp or {})}}))
    connect(target, records)
    target.path.write_text(target.path.read_text() + "\n")
    disconnect(target, records)
    assert json.loads(target.path.read_text()) == {"mcpServers": {"maestro": target.mcp}}


def test_a_connection_from_another_installation_replaces_the_earlier_entries(
    target: SettingsTarget, records: ConnectRecords, tmp_path: Path
) -> None:
    target.path.write_text('{"a": 1}\n')
    connect(target, records)
    (moved,) = entries.settings_targets(
        "gemini", SettingsScope.USER, MaestroCommand("/new/bin/maestro", "/data"), directory=tmp_path
    )
    connect(moved, records)
    text = target.path.read_text()
    assert "/opt/maestro" not in text
    assert data(text)["mcpServers"]["maestro"]["command"] == "/new/bin/maestro"
    assert "MAESTRO_HOME=/data /new/bin/maestro hook gemini AfterTool" in text
    disconnect(moved, records)
    assert target.path.read_text() == '{"a": 1}\n'


def test_a_plan_shows_the_diff_and_does_not_change_the_file(target: SettingsTarget, records: ConnectRecords) -> None:
    target.path.write_text('{"a": 1}\n')
    change = changes.plan_connect(target, records)
    diff = change.format_diff(target.path)
    assert not change.is_none and "+" in diff and "maestro hook gemini" in diff
    assert target.path.read_text() == '{"a": 1}\n' and records.find_record(target.path) is None


def test_a_disconnect_does_not_change_a_file_without_entries_of_maestro(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text('{"a": 1}\n')
    assert changes.plan_disconnect(target, records).is_none
    disconnect(target, records)
    assert target.path.read_text() == '{"a": 1}\n'


def test_a_connection_is_recorded_until_the_disconnect(target: SettingsTarget, records: ConnectRecords) -> None:
    target.path.write_text('{"a": 1}\n')
    connect(target, records)
    (record,) = records.records_of_tool("gemini")
    assert records.content_before(record) == b'{"a": 1}\n' and record.mcp == target.mcp
    disconnect(target, records)
    assert records.records_of_tool("gemini") == []


def make_targets(folder: Path) -> list[SettingsTarget]:
    paths = (folder / "a.json", folder / "deep" / "b.json", folder / "c.json")
    entry = {"command": "maestro", "args": ["mcp"]}
    return [
        SettingsTarget(path, SettingsFormat.JSON, mcp=entry, mcp_keys=("mcpServers", "maestro")) for path in paths
    ]


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("is_linked", [False, True])
def test_the_disconnect_of_the_last_file_of_a_folder_removes_the_folder(
    tmp_path: Path, order: tuple[int, ...], is_linked: bool
) -> None:
    person, top = tmp_path / "person", tmp_path / "person" / "top"
    (person / "real").mkdir(parents=True)
    if is_linked:
        top.symlink_to(person / "real")
    targets, records = make_targets(top / "tool"), ConnectRecords(tmp_path / "maestro")
    before = sorted(person.rglob("*"))
    for target in targets:
        changes.apply_connect(target, changes.plan_connect(target, records), records, tool="codex", scope="user")
    for index in order:
        assert (top / "tool").is_dir()
        target = targets[index]
        changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)
    assert sorted(person.rglob("*")) == before
    assert not list((tmp_path / "maestro" / "connect").glob("*.json"))


def test_a_disconnect_keeps_a_folder_that_holds_a_file_of_the_person(tmp_path: Path) -> None:
    (target, *_), records = make_targets(tmp_path / "tool"), ConnectRecords(tmp_path / "maestro")
    changes.apply_connect(target, changes.plan_connect(target, records), records, tool="codex", scope="user")
    (tmp_path / "tool" / "mine").write_text("mine")
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)
    assert [path.name for path in (tmp_path / "tool").iterdir()] == ["mine"]
