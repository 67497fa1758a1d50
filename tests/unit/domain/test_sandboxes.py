"""A sandbox shows the given folders, and bubblewrap gets the arguments for them in the right order."""

from __future__ import annotations

import pytest

from maestro.domain import sandboxes
from maestro.domain.sandboxes import Mounts


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [("/a", "/a", True), ("/a", "/a/b", True), ("/a", "/ab", False), ("/a/b", "/a", False), ("/", "/a", True)],
)
def test_a_path_contains_itself_and_the_paths_below_it(outer: str, inner: str, expected: bool) -> None:
    assert sandboxes.contains_path(outer, inner) is expected


@pytest.mark.parametrize(
    ("path", "expected"), [("/home/dana/.npm", True), ("/", False), ("npm", False), ("/home/../etc", False)]
)
def test_only_an_absolute_normal_path_below_the_root_is_a_cache_folder(path: str, expected: bool) -> None:
    assert sandboxes.is_valid_cache_path(path) is expected


def test_inner_folders_are_mounted_after_outer_folders() -> None:
    mounts = Mounts(
        home="/home/dana",
        readable=("/home/dana/vc/.git", "/home/dana/.npm"),
        writable=("/home/dana/vc", "/home/dana/vc/.git/objects"),
    )
    words = sandboxes.build_bubblewrap_arguments(mounts, directory="/home/dana/vc")
    shown = [word for word in words if word.startswith("/home")]
    order = ["/home/dana", "/home/dana/.npm", "/home/dana/vc", "/home/dana/vc/.git", "/home/dana/vc/.git/objects"]
    assert sorted(dict.fromkeys(shown), key=lambda path: (path.count("/"), path)) == order
    assert words.index("/home/dana/vc") < words.index("/home/dana/vc/.git") < words.index(order[-1])
    assert words[words.index("/home/dana/vc") - 1] == "--bind"
    assert words[words.index("/home/dana/vc/.git") - 1] == "--ro-bind"
    assert words[words.index("/home/dana") - 1] == "--tmpfs"
    assert words[-3:] == ["--chdir", "/home/dana/vc", "--"]


def test_the_environment_of_a_sandbox_contains_no_access_to_servers() -> None:
    given = {"MAESTRO_HOME": "/data", "MAESTRO_TOKEN": "t", "MAESTRO_GATE": "1", "SSH_AUTH_SOCK": "/s", "LANG": "C"}
    found = sandboxes.build_environment(given, home="/home/dana")
    assert found == {"MAESTRO_GATE": "1", "LANG": "C", "HOME": "/home/dana", "TMPDIR": "/tmp"}
