"""The permission policy allows or denies actions by patterns, without a question to the person."""

from __future__ import annotations

import pytest

from maestro.tools.policy import PermissionPolicy


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
def test_a_pattern_allows_only_the_matching_actions(allow: list[str], action: str, allowed: bool) -> None:
    assert PermissionPolicy(tuple(allow)).decide_actions(action) is (True if allowed else None)
    assert PermissionPolicy(tuple(allow), "deny").decide_actions(action) is allowed


def test_a_file_is_matched_by_its_normalised_path() -> None:
    policy = PermissionPolicy(("edit:docs/*",), "deny")
    assert policy.decide_actions("edit:docs/a.md") is True
    assert policy.decide_actions("edit:docs/../.git/hooks/pre-commit") is False
    assert policy.decide_actions("edit:./docs/a.md") is True


def test_a_file_of_the_workspace_is_also_matched_by_its_path_in_the_workspace() -> None:
    policy = PermissionPolicy(("edit:docs/*", "edit:/else/*"), "deny", "/work")
    assert policy.decide_actions("edit:/work/docs/a.md") is True
    assert policy.decide_actions("edit:docs/a.md") is True
    assert policy.decide_actions("edit:/else/a.md") is True
    assert policy.decide_actions("edit:/work/.git/config") is False
    assert policy.decide_actions("edit:/work/docs/../.git/config") is False
    assert policy.decide_actions("edit:/workdocs/a.md") is False
    assert policy.decide_actions("edit:/etc/docs/a.md") is False


def test_several_actions_are_allowed_only_if_each_action_is_allowed() -> None:
    policy = PermissionPolicy(("edit:/work/*",), "deny")
    assert policy.decide_actions("edit:/work/a", "edit:/work/b") is True
    assert policy.decide_actions("edit:/work/a", "edit:/etc/passwd") is False
    assert PermissionPolicy(("*",)).decide_actions() is None
