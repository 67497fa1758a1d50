"""Realistic JSON settings files are merged without loss, or refused with a reason and not changed."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.client.connect import changes, settings_text
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.settings_text import NotChangeable
from maestro.text import jsonc
from maestro.tools.connect_support import SettingsTarget

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
    "huge": '{\n  "history": [\n' + ",\n".join(f'    "line {n} // {{"' for n in range(8_000)) + "\n  ]\n}\n",
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


def connect(target: SettingsTarget, records: ConnectRecords) -> None:
    change = changes.plan_connect(target, records)
    changes.apply_connect(target, change, records, tool="gemini", scope="user")


def disconnect(target: SettingsTarget, records: ConnectRecords) -> None:
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)


def data(text: str) -> Any:
    text = text.removeprefix("\ufeff")
    return jsonc.JsoncDocument(text).root.to_value() if text.strip() else {}


def expected(target: SettingsTarget, before: str) -> Any:
    """Return the expected settings: without earlier entries of Maestro, and with the new entries at the end."""
    wanted = data(settings_text.remove_entries(target, before))
    hooks = wanted.setdefault("hooks", {})
    for event, groups in target.hooks.items():
        hooks[event] = [*hooks.get(event, []), *groups]
    wanted.setdefault("mcpServers", {}).setdefault("maestro", dict(target.mcp or {}))
    return wanted


@pytest.mark.parametrize("name", JSON)
def test_a_connection_merges_a_readable_file_and_a_disconnect_restores_every_byte(
    name: str, target: SettingsTarget, records: ConnectRecords
) -> None:
    before = JSON[name].encode()
    target.path.write_bytes(before)
    connect(target, records)
    after = target.path.read_text()
    assert data(after) == expected(target, JSON[name])
    change = changes.plan_connect(target, records)
    assert change.is_none, "A second connection plans a change."
    disconnect(target, records)
    assert target.path.read_bytes() == before
    assert [file.name for file in target.path.parent.iterdir()] == ["settings.json"], (
        "The connection left another file in the folder."
    )


@pytest.mark.parametrize("name", JSON)
def test_the_text_of_other_programs_stays_in_its_order(name: str, target: SettingsTarget) -> None:
    """Check that the new text holds each word of other programs, in the same order."""
    before = settings_text.remove_entries(target, JSON[name])
    after, _ = settings_text.add_entries(target, before)
    place = 0
    for word in "".join(c if c not in "{}[]," else " " for c in before).split():
        found = after.find(word, place)
        assert found >= 0, word
        place = found + len(word)


@pytest.mark.parametrize("name", JSON)
def test_a_disconnect_keeps_text_that_other_programs_wrote_after_the_connection(
    name: str, target: SettingsTarget, records: ConnectRecords
) -> None:
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
def test_a_text_that_cannot_be_changed_safely_is_refused_and_not_changed(
    name: str, target: SettingsTarget, records: ConnectRecords
) -> None:
    before = LEFT[name].encode()
    target.path.write_bytes(before)
    with pytest.raises(NotChangeable) as reason:
        connect(target, records)
    assert len(str(reason.value)) > 10
    assert target.path.read_bytes() == before
    assert records.records_of_tool("gemini") == []


def test_the_tables_of_this_module_hold_at_least_forty_files() -> None:
    assert len(JSON) + len(LEFT) >= 40
