"""Settings as they are found on people's machines: merged right, or left alone with a word why. Nothing is ever lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maestro.client.connect import changes, entries, files, settings_text
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.entries import MaestroCommand, SettingsScope, SettingsTarget
from maestro.client.connect.settings_text import NotChangeable
from maestro.text import jsonc

CALLER = MaestroCommand("/opt/maestro/bin/maestro")
OTHER = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint.sh"}]}'
OURS = '{"hooks": [{"type": "command", "command": "/old/bin/maestro hook gemini AfterTool", "timeout": 1}]}'
DEEP = "[" * 150 + "]" * 150

JSON = {
    "nothing": "",
    "white space": " \n\t\r\n",
    "an empty object": "{}",
    "an empty object on two lines": "{\n}\n",
    "an object without a last newline": '{"a": 1}',
    "one line with spaces": '{ "a": 1, "b": [1, 2] }\n',
    "two spaces": '{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}\n',
    "four spaces": '{\n    "a": 1\n}\n',
    "tabs": '{\n\t"a": {\n\t\t"b": 1\n\t}\n}\n',
    "windows lines": '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n',
    "a byte order mark": '\ufeff{"a": 1}\n',
    "line comments": '// mine\n{\n  // first\n  "a": 1, // one\n  "b": 2 // two\n  // last\n}\n// end\n',
    "block comments": '/* top */ {\n  "a": /* in */ 1 /* after */,\n  /* b */ "b": 2 /* z */\n}\n',
    "a comment alone": "{\n  // nothing here yet\n}\n",
    "a block comment alone": "{ /* nothing */ }",
    "a trailing comma": '{\n  "a": [1, 2,],\n  "b": 2,\n}\n',
    "a trailing comma and a comment": '{\n  "a": 1, // one,\n}\n',
    "a trailing comma on one line": '{"a": 1,}',
    "slashes in strings": '{"url": "https://example.org/*not*/", "path": "//x"}\n',
    "braces in strings": '{"a": "}{][,:\\"", "b": "\\u007d"}\n',
    "others' hooks": f'{{\n  "hooks": {{\n    "AfterTool": [{OTHER}],\n    "Later": []\n  }}\n}}\n',
    "others' hooks with comments": f'{{"hooks": {{"AfterTool": [ // mine\n {OTHER}, // lint\n ] }} }}',
    "empty hooks": '{"hooks": {}}',
    "empty lists of hooks": '{"hooks": {"AfterTool": [], "BeforeTool": [ ]}}',
    "ours from an old place": f'{{"hooks": {{"AfterTool": [{OURS}]}}}}',
    "ours between others'": f'{{"hooks": {{"AfterTool": [{OTHER}, {OURS}, {OTHER}]}}}}',
    "ours in someone's group": '{"hooks": {"AfterTool": [{"hooks": [{"command": "a"}, '
    '{"command": "maestro hook gemini AfterTool"}]}]}}',
    "other MCP servers": '{"mcpServers": {"other": {"command": "x"}}, "z": null}\n',
    "no MCP servers": '{"mcpServers": {}}\n',
    "someone's own maestro": '{"mcpServers": {"maestro": {"command": "mine", "args": []}}}\n',
    "non-ASCII text": '{"name": "Zoë 日本 \\ud83d\\ude00 😀"}\n',
    "huge": '{\n  "history": [\n' + ",\n".join(f'    "line {n} // {{"' for n in range(40_000)) + "\n  ]\n}\n",
    "numbers of all kinds": '{"a": -1.5e+10, "b": 0, "c": 123456789012345678901234567890, "d": true, "e": null}',
}
LEFT = {
    "no JSON at all": "theme = dark\n",
    "cut off": '{"a": {"b": 1',
    "a list": '[{"a": 1}]\n',
    "a string": '"a"',
    "single quotes": "{'a': 1}",
    "a bare key": "{a: 1}",
    "two documents": '{"a": 1}\n{"b": 2}\n',
    "a comment that does not end": '{"a": 1} /* ',
    "a missing comma": '{"a": 1 "b": 2}',
    "two commas": '{"a": 1,, "b": 2}',
    "a lone comma": "{,}",
    "merge marks": '<<<<<<< HEAD\n{"a": 1}\n=======\n{"a": 2}\n>>>>>>> x\n',
    "hooks that are a list": '{"hooks": []}',
    "hooks that are a word": '{"hooks": "none"}',
    "an event that is an object": '{"hooks": {"AfterTool": {}}}',
    "servers that are a list": '{"mcpServers": []}',
    "hooks twice": '{"hooks": {}, "a": 1, "hooks": {}}',
    "servers twice": '{"mcpServers": {}, "mcpServers": {}}',
    "nested without end": f'{{"a": {DEEP}}}',
    "a control character": '{"a": "\x01"}',
}


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsTarget:
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (found,) = entries.settings_targets("gemini", SettingsScope.USER, CALLER, directory=tmp_path)
    found.path.parent.mkdir(parents=True)
    return found


@pytest.fixture
def records(tmp_path: Path) -> ConnectRecords:
    return ConnectRecords(tmp_path / "data")


def connect(target: SettingsTarget, records: ConnectRecords) -> None:
    change = changes.plan_connect(target, records)
    changes.apply_connect(target, change, records, tool="gemini", scope="user")


def disconnect(target: SettingsTarget, records: ConnectRecords) -> None:
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)


def data(text: str) -> Any:
    text = text.removeprefix("\ufeff")
    return jsonc.JsoncDocument(text).root.to_value() if text.strip() else {}


def expected(target: SettingsTarget, before: str) -> Any:
    """What should stand there, made the plain way: ours taken out, then put at the end of what there is."""
    wanted = data(settings_text.remove_entries(target, before))
    hooks = wanted.setdefault("hooks", {})
    for event, groups in target.hooks.items():
        hooks[event] = [*hooks.get(event, []), *groups]
    wanted.setdefault("mcpServers", {}).setdefault("maestro", dict(target.mcp or {}))
    return wanted


@pytest.mark.parametrize("name", JSON)
def test_what_can_be_read_is_merged_and_comes_back_to_the_last_byte(
    name: str, target: SettingsTarget, records: ConnectRecords
) -> None:
    before = JSON[name].encode()
    target.path.write_bytes(before)
    connect(target, records)
    after = target.path.read_text()
    assert data(after) == expected(target, JSON[name])
    change = changes.plan_connect(target, records)
    assert change.is_none, "to connect twice changes nothing more"
    disconnect(target, records)
    assert target.path.read_bytes() == before
    assert [file.name for file in target.path.parent.iterdir()] == ["settings.json"], "nothing is left lying about"


@pytest.mark.parametrize("name", JSON)
def test_nobody_elses_text_is_touched(name: str, target: SettingsTarget) -> None:
    """Every line of the file that is not ours stands in the new one, in the same order."""
    before = settings_text.remove_entries(target, JSON[name])
    after, _ = settings_text.add_entries(target, before)
    place = 0
    for word in "".join(c if c not in "{}[]," else " " for c in before).split():
        found = after.find(word, place)
        assert found >= 0, word
        place = found + len(word)


@pytest.mark.parametrize("name", JSON)
def test_what_others_write_meanwhile_stays(name: str, target: SettingsTarget, records: ConnectRecords) -> None:
    target.path.write_bytes(JSON[name].encode())
    connect(target, records)
    text = target.path.read_text()
    end = text.rindex("}")
    comma = "" if text[:end].rstrip().endswith((",", "{")) or "// " in text[:end].splitlines()[-1] else ","
    added = text[:end].rstrip() + f'{comma}\n"addedLater": {{"x": 1}}\n' + text[end:]
    kept = data(added)
    target.path.write_text(added)
    disconnect(target, records)
    left = data(target.path.read_text())
    assert left["addedLater"] == {"x": 1}
    ours = {"hooks", "mcpServers"}
    assert {key: value for key, value in left.items() if key not in ours} == {
        key: value for key, value in kept.items() if key not in ours
    }
    assert settings_text.present_entries(target, target.path.read_text())[0] == set()
    servers = data(settings_text.remove_entries(target, JSON[name])).get("mcpServers", {})
    assert left.get("mcpServers", {}) == servers


@pytest.mark.parametrize("name", LEFT)
def test_what_cannot_be_changed_with_certainty_is_left_alone(
    name: str, target: SettingsTarget, records: ConnectRecords
) -> None:
    before = LEFT[name].encode()
    target.path.write_bytes(before)
    with pytest.raises(NotChangeable) as reason:
        connect(target, records)
    assert len(str(reason.value)) > 10
    assert target.path.read_bytes() == before
    assert records.records_of_tool("gemini") == []


def test_there_are_forty_of_them() -> None:
    assert len(JSON) + len(LEFT) >= 40


def read_only(path: Path) -> None:
    path.chmod(0o444)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def not_text(path: Path) -> None:
    path.write_bytes(b'{"a": "\xff\xfe"}')


def too_large(path: Path) -> None:
    with path.open("wb") as out:
        out.truncate(files.BYTES_MAX + 1)


def circular(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


@pytest.mark.parametrize("spoil", [read_only, a_folder, a_pipe, not_text, too_large, circular])
def test_what_is_no_file_to_write_is_left_alone(
    spoil: Callable[[Path], None], target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text('{"a": 1}')
    spoil(target.path)
    with pytest.raises(NotChangeable):
        connect(target, records)
    assert records.records_of_tool("gemini") == []


def test_links_are_followed_and_stay(target: SettingsTarget, records: ConnectRecords, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "gemini.json"
    real.parent.mkdir()
    real.write_text('{"a": 1}\n')
    real.chmod(0o640)
    target.path.symlink_to(real)
    connect(target, records)
    assert target.path.is_symlink() and "maestro hook" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    disconnect(target, records)
    assert target.path.is_symlink() and real.read_text() == '{"a": 1}\n'


def test_where_there_was_no_file_there_is_none_again(target: SettingsTarget, records: ConnectRecords) -> None:
    target.path.parent.rmdir()
    connect(target, records)
    assert target.path.stat().st_mode & 0o077 == 0
    assert data(target.path.read_text()).keys() == {"hooks", "mcpServers"}
    disconnect(target, records)
    assert not target.path.parent.exists()


def test_a_file_that_maestro_made_and_others_use_stays(target: SettingsTarget, records: ConnectRecords) -> None:
    connect(target, records)
    found = json.loads(target.path.read_text())
    target.path.write_text(json.dumps({**found, "theirs": 1}))
    disconnect(target, records)
    assert json.loads(target.path.read_text()) == {"theirs": 1}


def test_what_someone_writes_in_between_is_not_lost(target: SettingsTarget, records: ConnectRecords) -> None:
    target.path.write_text('{"a": 1}')
    others = iter(['{"a": 2}', '{"a": 3}'])

    def make() -> changes.FileChange:
        change = changes.plan_connect(target, records)
        if text := next(others, ""):
            target.path.write_text(text)  # after it was read, before it is written
        return change

    changes.change_with_retries(
        make, lambda one: changes.apply_connect(target, one, records, tool="gemini", scope="user")
    )
    assert data(target.path.read_text())["a"] == 3
    disconnect(target, records)
    assert target.path.read_text() == '{"a": 3}'


def test_who_keeps_writing_wins(target: SettingsTarget, records: ConnectRecords) -> None:
    target.path.write_text("{}")
    numbers = iter(range(100))

    def make() -> changes.FileChange:
        change = changes.plan_connect(target, records)
        target.path.write_text(json.dumps({"n": next(numbers)}))
        return change

    with pytest.raises(NotChangeable, match="keeps writing"):
        changes.change_with_retries(
            make, lambda one: changes.apply_connect(target, one, records, tool="gemini", scope="user")
        )
    assert json.loads(target.path.read_text()).keys() == {"n"}


def test_the_entry_of_someone_else_is_kept_and_said_so(target: SettingsTarget, records: ConnectRecords) -> None:
    before = JSON["someone's own maestro"]
    target.path.write_text(before)
    assert "is not changed" in changes.plan_connect(target, records).notes[0]
    connect(target, records)
    target.path.write_text(target.path.read_text() + "\n")
    disconnect(target, records)
    assert data(target.path.read_text())["mcpServers"]["maestro"]["command"] == "mine"


def test_one_that_is_just_like_ours_was_there_before_and_stays(
    target: SettingsTarget, records: ConnectRecords
) -> None:
    target.path.write_text(json.dumps({"mcpServers": {"maestro": dict(target.mcp or {})}}))
    connect(target, records)
    target.path.write_text(target.path.read_text() + "\n")
    disconnect(target, records)
    assert json.loads(target.path.read_text()) == {"mcpServers": {"maestro": target.mcp}}


def test_another_installation_takes_the_place_of_the_last(
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
