"""When a provider takes more again, from the words in which a program tells its person."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

_CLOCK = re.compile(
    r"resets (?:(?P<month>[A-Z][a-z]{2}) (?P<day>\d{1,2})(?:,| at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?P<half>am|pm)(?: \((?P<zone>[\w/+-]+)\))?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def reset_at(text: str, now: datetime) -> datetime | None:
    """The next time that a text names ("resets 10:01am (UTC)", "resets Nov 18 at 10am (UTC)"); None if it names none.
    It is given to the minute, and meant is the end of that."""
    found = _CLOCK.search(text)
    if found is None or not 1 <= int(found["hour"]) <= 12:
        return None
    try:
        zone = ZoneInfo(found["zone"]) if found["zone"] and found["zone"] != "UTC" else UTC
        here = now.astimezone(zone)
        hour = int(found["hour"]) % 12 + (12 if found["half"] == "pm" else 0)
        named = here.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
        if found["month"]:
            named = named.replace(month=_MONTHS.index(found["month"]) + 1, day=int(found["day"]))
    except (ValueError, KeyError):  # no such zone, day or month
        return None
    end = named + timedelta(minutes=1)
    if end <= here:
        end = end.replace(year=end.year + 1) if found["month"] else end + timedelta(days=1)
    return end.astimezone(UTC)
