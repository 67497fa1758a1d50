"""Tables are added at the end of Codex's config.toml and removed again; all other text stays unchanged."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from maestro.client.connect import changes, entries, toml_text
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.settings_text import NotChangeable
from maestro.tools.connect_support import MaestroCommand, SettingsScope, SettingsTarget

KEYS = ("mcp_servers", "maestro")
GOOD = {
    "nothing": "",
    "white space": "\n\n",
    "no last newline": 'model = "x"',
    "comments": '# mine\nmodel = "x" # this one\n\n[features] # on\nweb = true\n# last words',
    "windows lines": 'model = "x"\r\n\r\n[tui]\r\ntheme = "dark"\r\n',
    "another server": '[mcp_servers.other]\ncommand = "x"\n',
    "a parent table": '[mcp_servers]\n[mcp_servers.other]\ncommand = "x"\n',
    "dotted keys": 'tui.theme = "dark"\n',
    "long strings": 'text = """\n[mcp_servers.maestro]\n"""\n',
    "arrays of tables": "[[rules]]\na = 1\n[[rules]]\na = 2\n",
    "quoted keys": '[projects."/src/vc"]\ntrust_level = "trusted"\n',
}
BAD = {
    "no TOML": "{}",
    "cut off": "[features",
    "twice": "a = 1\na = 2\n",
    "servers in one line": 'mcp_servers = { other = { command = "x" } }\n',
    "servers that are a list": "mcp_servers = []\n",
    "a byte order mark": '\ufeffmodel = "x"\n',
}


def review_marks(key: str) -> list[tuple[tuple[str, ...], dict[str, str]]]:
    """Return the table with which codex marks a hook as reviewed."""
    return [(("hooks", "state", key), {"trusted_hash": "sha256:1"})]


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SettingsTarget:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    _, found = entries.settings_targets(
        "codex", SettingsScope.USER, MaestroCommand("/opt/maestro"), directory=tmp_path
    )
    return found


@pytest.mark.parametrize("name", GOOD)
def test_a_connection_adds_its_tables_and_a_disconnect_restores_every_byte(
    name: str, target: SettingsTarget, tmp_path: Path
) -> None:
    records = ConnectRecords(tmp_path / "data")
    before = GOOD[name].encode()
    target.path.write_bytes(before)
    change = changes.plan_connect(target, records)
    changes.apply_connect(target, change, records, tool="codex", scope="user")
    after = target.path.read_bytes()
    assert after.startswith(before)
    assert tomllib.loads(after.decode())["mcp_servers"]["maestro"] == target.mcp
    assert changes.plan_connect(target, records).is_none
    trusted = changes.plan_trust(target, records, review_marks("/h/hooks.json:stop:0:0"))
    changes.apply_connect(target, trusted, records, tool="codex", scope="user")
    state = tomllib.loads(target.path.read_text())["hooks"]["state"]
    assert state == {"/h/hooks.json:stop:0:0": {"trusted_hash": "sha256:1"}}
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)
    assert target.path.read_bytes() == before


@pytest.mark.parametrize("name", GOOD)
def test_a_disconnect_keeps_text_that_other_programs_wrote_after_the_connection(
    name: str, target: SettingsTarget, tmp_path: Path
) -> None:
    records = ConnectRecords(tmp_path / "data")
    target.path.write_bytes(GOOD[name].encode())
    changes.apply_connect(target, changes.plan_connect(target, records), records, tool="codex", scope="user")
    trusted = changes.plan_trust(target, records, review_marks("k:stop:0:0"))
    changes.apply_connect(target, trusted, records, tool="codex", scope="user")
    later = '\n# theirs\n[later]\nx = 1\n\n[hooks.state."other"]\ntrusted_hash = "sha256:2"\n'
    target.path.write_bytes(target.path.read_bytes() + later.encode())
    changes.apply_disconnect(target, changes.plan_disconnect(target, records), records)
    left = target.path.read_text()
    assert "# theirs" in left
    theirs = {"later": {"x": 1}, "hooks": {"state": {"other": {"trusted_hash": "sha256:2"}}}}
    wanted = tomllib.loads(GOOD[name]) | theirs
    if wanted.get("mcp_servers") == {}:
        del wanted["mcp_servers"]
    assert tomllib.loads(left) == wanted


def test_a_second_connection_does_not_keep_the_trust_mark_of_the_first(
    target: SettingsTarget, tmp_path: Path
) -> None:
    records = ConnectRecords(tmp_path / "data")
    target.path.write_text('model = "x"\n')
    changes.apply_connect(target, changes.plan_connect(target, records), records, tool="codex", scope="user")
    trusted = changes.plan_trust(target, records, review_marks("k:stop:0:0"))
    changes.apply_connect(target, trusted, records, tool="codex", scope="user")
    target.path.write_text(target.path.read_text() + "\n[later]\nx = 1\n")
    _, moved = entries.settings_targets(
        "codex", SettingsScope.USER, MaestroCommand("/elsewhere/maestro"), directory=tmp_path
    )
    changes.apply_connect(moved, changes.plan_connect(moved, records), records, tool="codex", scope="user")
    changes.apply_disconnect(moved, changes.plan_disconnect(moved, records), records)
    assert tomllib.loads(target.path.read_text()) == {"model": "x", "later": {"x": 1}}


@pytest.mark.parametrize("name", BAD)
def test_a_text_that_cannot_be_changed_safely_is_refused_and_not_changed(
    name: str, target: SettingsTarget, tmp_path: Path
) -> None:
    target.path.write_bytes(BAD[name].encode())
    with pytest.raises(NotChangeable):
        changes.plan_connect(target, ConnectRecords(tmp_path / "data"))
    assert target.path.read_bytes() == BAD[name].encode()


def test_a_hook_that_codex_or_the_person_has_marked_gets_no_trust_mark(
    target: SettingsTarget, tmp_path: Path
) -> None:
    records = ConnectRecords(tmp_path / "data")
    target.path.write_text('[hooks.state."k"]\nenabled = false\n')
    assert changes.plan_trust(target, records, review_marks("k")).is_none


def test_removing_a_table_without_its_own_header_is_refused() -> None:
    text = 'mcp_servers.maestro = { command = "x" }\n'
    with pytest.raises(toml_text.UneditableToml):
        toml_text.remove_table(text, KEYS)


@pytest.mark.parametrize("odd", ['C:\\x "y"', "a\nb", "\u2028", "🎼", ""])
def test_any_key_or_text_in_an_added_table_is_read_back_unchanged(odd: str) -> None:
    made = toml_text.add_table("", ("a", odd), {"k": odd, "list": [odd], "table": {"x-1": odd, "y z": True}})
    assert tomllib.loads(made) == {"a": {odd: {"k": odd, "list": [odd], "table": {"x-1": odd, "y z": True}}}}
