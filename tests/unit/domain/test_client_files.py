"""Files in a checkout may be read and written, but files in its settings folders may only be read."""

from __future__ import annotations

import pytest

from maestro.domain.client_files import FileAccess, is_in_checkout

TOP = "/src/dave/vc"
TOOLS = frozenset({".claude"})


@pytest.mark.parametrize(
    ("path", "reads", "writes"),
    [
        ("/src/dave/vc/notes.md", True, True),
        ("/src/dave/vc/docs/a/b.html", True, True),
        ("/src/dave/vc", False, False),
        ("/src/dave/vc2/notes.md", False, False),
        ("/src/dave", False, False),
        ("/src/dave/vc/../secret", False, False),
        ("/home/dana/.ssh/id_rsa", False, False),
        ("notes.md", False, False),
        ("pipe:[123]", False, False),
        ("/src/dave/vc/.git/hooks/pre-commit", True, False),
        ("/src/dave/vc/lib/.GIT/config", True, False),
        ("/src/dave/vc/.claude/settings.json", True, False),
        ("/src/dave/vc/.maestro/config.toml", True, False),
        ("/src/dave/vc/.github/x.yml", True, True),
    ],
)
def test_files_in_settings_folders_of_a_checkout_may_be_read_but_not_written(
    path: str, reads: bool, writes: bool
) -> None:
    assert is_in_checkout(path, TOP, FileAccess.READ, tool_folders=TOOLS) is reads
    assert is_in_checkout(path, TOP, FileAccess.WRITE, tool_folders=TOOLS) is writes
