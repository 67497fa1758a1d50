"""The reset time of a rate limit is read from the text of a program."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from maestro.tools.limit_resets import reset_at

NOW = datetime(2026, 11, 16, 10, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("You've hit your 5-hour limit · resets 10:01am (UTC)", datetime(2026, 11, 16, 10, 2, tzinfo=UTC)),
        ("resets 3pm (UTC)", datetime(2026, 11, 16, 15, 1, tzinfo=UTC)),
        ("resets 9am (UTC)", datetime(2026, 11, 17, 9, 1, tzinfo=UTC)),
        ("resets 12am (Europe/Berlin)", datetime(2026, 11, 16, 23, 1, tzinfo=UTC)),
        ("resets 12:30pm (Europe/Berlin)", datetime(2026, 11, 16, 11, 31, tzinfo=UTC)),
        ("weekly limit · resets Nov 18 at 10am (UTC)", datetime(2026, 11, 18, 10, 1, tzinfo=UTC)),
        ("resets Jan 2, 8am (UTC)", datetime(2027, 1, 2, 8, 1, tzinfo=UTC)),
        ("resets soon", None),
        ("resets 25am (UTC)", None),
        ("resets 10am (No/Where)", None),
        ("resets Feb 31 at 10am (UTC)", None),
        ("", None),
    ],
)
def test_the_reset_time_is_the_next_occurrence_of_the_named_time(text: str, expected: datetime | None) -> None:
    assert reset_at(text, NOW) == expected
