"""git's configuration files, read without git, mean what git takes them for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maestro.core import limits
from maestro.core.errors import Invalid
from maestro.domain import git_config, git_programs
from maestro.domain.git_config import GitSetting, parse_settings

PIECES = st.sampled_from(
    ["[a]", '[a "b c"]', "[A.b]", '[a "\\"x\\\\"]', "x", "Y-1", " = ", "=", '"', "\\", "\\n", "\n", "\r\n", "\t", " ", "#", ";", "v", "ä"]
)  # fmt: skip


def by_git(folder: Path, text: str) -> list[GitSetting] | None:
    """What git itself reads; None for a file that it refuses."""
    file = folder / "config"
    file.write_bytes(text.encode())
    words = ["git", "config", "--null", "--no-includes", "-f", str(file), "--list"]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode != 0:
        return None
    pairs = [entry.partition("\n") for entry in done.stdout.decode().split("\0") if entry]
    return [GitSetting(key, value if has_value else None) for key, has_value, value in pairs]


def by_us(text: str) -> list[GitSetting] | None:
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
def test_a_file_means_what_git_says(tmp_path: Path, text: str) -> None:
    assert by_us(text) == by_git(tmp_path, text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=14))
def test_any_file_means_what_git_says(tmp_path: Path, pieces: list[str]) -> None:
    text = "".join(pieces)
    assert by_us(text) == by_git(tmp_path, text)


def test_too_many_settings_are_refused() -> None:
    with pytest.raises(Invalid, match="more than"):
        parse_settings("[a]\n" + "b\n" * (limits.git_config_settings_max + 1))


def test_addresses_of_remotes() -> None:
    text = '[remote "a"]\nurl = gh:x\nurl = second\n[remote "b"]\nurl = b\n[url "https://g/"]\ninsteadOf = gh:\n'
    found = parse_settings(text)
    assert git_config.remote_addresses(found) == {"a": "gh:x"}
    assert git_config.rewrite_address("gh:x", found) == "https://g/x"


def test_settings_that_name_programs_are_found_and_switched_off() -> None:
    text = (
        '[filter "x"]\nclean = p\n[merge "y"]\ndriver = q\nname = n\n[diff]\nalgorithm = z\n[core]\nsshCommand = s\n'
    )
    found = git_programs.program_settings(parse_settings(text))
    assert [one.key for one in found] == ["filter.x.clean", "merge.y.driver", "core.sshcommand"]
    off = git_programs.neutral_settings(found)
    assert "filter.x.clean=" in off and "core.sshCommand=ssh" in off
    assert any(one.startswith("merge.y.driver=git merge-file") for one in off)
    with pytest.raises(Invalid, match="cannot switch off"):
        git_programs.neutral_settings(parse_settings('[filter "a=b"]\nclean = p\n'))


def test_a_record_tells_values_apart() -> None:
    one, other = GitSetting("filter.x.clean", "a"), GitSetting("filter.x.clean", "b")
    assert git_programs.fingerprint_setting(one) != git_programs.fingerprint_setting(other)
