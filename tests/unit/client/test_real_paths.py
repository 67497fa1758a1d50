"""The real path of a descriptor is the path of the open file, also after a link to the file has changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from maestro.client import real_paths


def real_path(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return real_paths.real_path(descriptor, os.fsencode(path))
    finally:
        os.close(descriptor)


def test_the_real_path_contains_no_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / "link").symlink_to("folder")
    assert real_path(tmp_path / "link" / "file") == os.fsencode(tmp_path.resolve() / "folder" / "file")
    assert real_path(tmp_path / "link") == os.fsencode(tmp_path.resolve() / "folder")


def test_a_link_that_changes_after_the_open_does_not_change_the_real_path(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).touch()
    link = tmp_path / "link"
    link.symlink_to("first")
    descriptor = os.open(link, os.O_RDONLY)
    link.unlink()
    link.symlink_to("second")
    assert real_paths.real_path(descriptor, os.fsencode(link)) == os.fsencode(tmp_path.resolve() / "first")
    os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc names pipes")
def test_the_real_path_of_a_pipe_has_no_leading_slash() -> None:
    reader, writer = os.pipe()
    assert not real_paths.real_path(reader, b"/dev/stdin").startswith(b"/")
    os.close(reader)
    os.close(writer)
