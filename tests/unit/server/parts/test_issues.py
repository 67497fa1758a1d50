"""The server knows which requests to open an issue are quick, because they need only a few statements."""

from __future__ import annotations

import pytest

from maestro.core import limits
from maestro.operations import issues as issue_ops
from maestro.operations.mail_shapes import MailFile
from maestro.server.app import Server

SHORT = {"to": "vc", "title": "t", "message": "m"}
LARGE = MailFile(file_name="log.txt", content=b"x" * (limits.inline_bytes_max + 1))


@pytest.mark.parametrize(
    ("fields", "is_quick"), [({}, True), ({"blocks": ["#1"]}, False), ({"attach": [LARGE]}, False)]
)
async def test_opening_an_issue_with_a_dependency_or_a_large_file_is_not_quick(
    server: Server, fields: dict[str, object], is_quick: bool
) -> None:
    binding = server.parts.issues.bindings[issue_ops.OPEN.name]
    assert binding.is_quick(issue_ops.OpenIssue(**(SHORT | fields))) == is_quick  # type: ignore[arg-type]
