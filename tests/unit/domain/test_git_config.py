"""Maestro's parser of git configuration reads a file exactly as git reads the file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.domain import git_config
from maestro.domain.git_config import GitSetting, parse_settings

PIECES = st.sampled_from(
    ["[a]", '[a "b c"]', "[A.b]", '[a "\\"x\\\\"]', "x", "Y-1", " = ", "=", '"', "\\", "\\n", "\n", "\r\n", "\t", " ", "#", ";", "v", "ä"]
)  # fmt: skip


def settings_by_git(folder: Path, text: str) -> list[GitSetting] | None:
    """Return the settings that git reads from the text; return None for a text that git refuses."""
    file = folder / "config"
    file.write_bytes(text.encode())
    command = ["git", "config", "--null", "--no-includes", "-f", str(file), "--list"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode != 0:
        return None
    pairs = [entry.partition("\n") for entry in done.stdout.decode().split("\0") if entry]
    return [GitSetting(key, value if has_value else None) for key, has_value, value in pairs]


def settings_by_maestro(text: str) -> list[GitSetting] | None:
    try:
        return parse_settings(text)
    except Invalid:
        return None


@pytest.mark.parametrize(
    "text",
    [
        "",
        '[remote "origin"]\n\turl = git@github.com:a/b.git\n\tfetch = +refs/*:refs/*\n',
        '\ufeff[filter "x"] CLEAN = "a b" c ; comment\n',
        '[filter.X]clean=p\n[Filter "X"]\tSmudge\n',
        '[a "b.c"]\nd = 1 \\\n  2\n',
        '[a]\nb = "un',
        "[a]\n1b = c\n",
        "b = c\n",
        '[a "b\n"]\nc\n',
        "[a]\r\nb = c\r\n# end",
        '[a]\nb = " x " # y\nc = \\t\\"\n',
        "[a]b",
    ],
)
def test_maestro_reads_a_known_configuration_as_git_does(tmp_path: Path, text: str) -> None:
    assert settings_by_maestro(text) == settings_by_git(tmp_path, text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=14))
def test_maestro_reads_a_random_configuration_as_git_does(tmp_path: Path, pieces: list[str]) -> None:
    text = "".join(pieces)
    assert settings_by_maestro(text) == settings_by_git(tmp_path, text)


def test_a_configuration_with_too_many_settings_is_refused() -> None:
    with pytest.raises(Invalid, match="more than"):
        parse_settings("[a]\n" + "b\n" * (limits.git_config_settings_max + 1))


def test_a_remote_has_its_first_address_and_the_rewriting_rule_applies_to_it() -> None:
    text = '[remote "a"]\nurl = gh:x\nurl = second\n[remote "b"]\nurl = b\n[url "https://g/"]\ninsteadOf = gh:\n'
    found = parse_settings(text)
    assert git_config.remote_addresses(found) == {"a": "gh:x"}
    assert git_config.rewrite_address("gh:x", found) == "https://g/x"
