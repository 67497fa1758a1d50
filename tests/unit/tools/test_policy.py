"""Which permissions are given without anybody being asked."""

from __future__ import annotations

import pytest

from maestro.tools.policy import Policy


@pytest.mark.parametrize(
    ("allow", "action", "allowed"),
    [
        (["shell:git *"], "shell:git status", True),
        (["shell:git *"], "shell:rm -r .", False),
        (["shell:git *"], "shell:git status; rm -r .", False),
        (["shell:git *"], "shell:git status && rm -r .", False),
        (["shell:git *"], "shell:git log $(rm -r .)", False),
        (["shell:git *"], "shell:git log `rm -r .`", False),
        (["shell:git *"], "shell:git log > out.txt", False),
        (["shell:git *"], "shell:git log\nrm -r .", False),
        (["shell:*"], "shell:git status; rm -r .", True),
        (["*"], "shell:git status; rm -r .", True),
        (["shell:a; b"], "shell:a; b", True),
        (["edit:/work/*"], "edit:/work/a.py", True),
        (["edit:/work/*"], "edit:/etc/passwd", False),
        (["tool:WebFetch"], "tool:WebFetch", True),
        ([], "tool:WebFetch", False),
    ],
)
def test_a_pattern_allows_what_it_says_and_no_more(allow: list[str], action: str, allowed: bool) -> None:
    assert Policy(tuple(allow)).decide(action) is (True if allowed else None)
    assert Policy(tuple(allow), "deny").decide(action) is allowed


def test_a_file_is_matched_by_its_own_name() -> None:
    policy = Policy(("edit:docs/*",), "deny")
    assert policy.decide("edit:docs/a.md") is True
    assert policy.decide("edit:docs/../.git/hooks/pre-commit") is False
    assert policy.decide("edit:./docs/a.md") is True


def test_a_file_of_the_workspace_is_matched_by_its_place_there_too() -> None:
    policy = Policy(("edit:docs/*", "edit:/else/*"), "deny", "/work")
    assert policy.decide("edit:/work/docs/a.md") is True
    assert policy.decide("edit:docs/a.md") is True
    assert policy.decide("edit:/else/a.md") is True
    assert policy.decide("edit:/work/.git/config") is False
    assert policy.decide("edit:/work/docs/../.git/config") is False
    assert policy.decide("edit:/workdocs/a.md") is False
    assert policy.decide("edit:/etc/docs/a.md") is False


def test_of_several_actions_each_must_be_allowed() -> None:
    policy = Policy(("edit:/work/*",), "deny")
    assert policy.decide("edit:/work/a", "edit:/work/b") is True
    assert policy.decide("edit:/work/a", "edit:/etc/passwd") is False
    assert Policy(("*",)).decide() is None
