"""Links to other projects are read from a checkout's files and written without a change of other entries."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro.core.errors import Invalid
from maestro.domain.links import LinkSource, check_link_name, put_entry, read_entries, remove_entry

CONFIG, LOCAL = LinkSource.CONFIG, LinkSource.LOCAL


def test_fields_of_the_local_file_override_fields_of_the_committed_file() -> None:
    found, wrong = read_entries(
        {
            CONFIG: '[projects.beads]\nremote = "r"\npath = "p"\n[projects.other]\nremote = "o"',
            LOCAL: '[projects.BEADS]\npath = "mine"',
        }
    )
    assert [(one.name, one.remote, one.path, one.source) for one in found] == [
        ("beads", "r", "mine", LOCAL),
        ("other", "o", "", CONFIG),
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text",
    [
        "[projects",
        "projects = 3",
        "[projects.a]",
        "[projects]\na = 1",
        "[projects.a]\nremote = 3",
        '[projects."a b"]\nremote = "x"',
        '[projects."a#1"]\nremote = "x"',
        f'[projects.a]\npath = "{"x" * 5000}"',
        '[projects.a]\npath = "\\u0000"',
    ],
)
def test_an_invalid_file_is_reported_once_and_the_other_file_is_used(text: str) -> None:
    found, wrong = read_entries({CONFIG: text, LOCAL: '[projects.ok]\nremote = "r"'})
    assert [one.name for one in found] == ["ok"] and len(wrong) == 1 and CONFIG.value in wrong[0]


NAMES = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=5), VALUES)
def test_written_links_are_read_back_and_removed_links_leave_the_rest_unchanged(
    said: dict[str, str], other: str
) -> None:
    text = '# ours\n[worktree]\nsetup = "make"\n'
    for name, remote in said.items():
        text = put_entry(text, name, remote=remote, path="")
    name = next(iter(said))
    text = put_entry(text, name, remote=other, path=other)
    found = {one.name: (one.remote, one.path) for one in read_entries({CONFIG: text})[0]}
    assert found == {known: (remote, "") for known, remote in said.items()} | {name: (other, other)}
    for gone in said:
        text = remove_entry(text, gone)
    assert tomllib.loads(text) == {"worktree": {"setup": "make"}} and text.startswith("# ours\n")


@pytest.mark.parametrize("name", ["", "a b", "a#1", "-a", "x" * 65])
def test_an_invalid_link_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid):
        check_link_name(name)
