"""Finds the end of a rate limit in a program's message to the person."""

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
    """Return the next time that a text names ("resets 10:01am (UTC)", "resets Nov 18 at 10am (UTC)"), or None.
    The text has no seconds, so the end of the minute counts."""
    match = _CLOCK.search(text)
    if match is None or not 1 <= int(match["hour"]) <= 12:
        return None
    try:
        zone = ZoneInfo(match["zone"]) if match["zone"] and match["zone"] != "UTC" else UTC
        local_now = now.astimezone(zone)
        hour = int(match["hour"]) % 12 + (12 if match["half"] == "pm" else 0)
        named = local_now.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
        if match["month"]:
            named = named.replace(month=_MONTHS.index(match["month"]) + 1, day=int(match["day"]))
    except (ValueError, KeyError):  # an unknown zone, day or month
        return None
    end = named + timedelta(minutes=1)
    if end <= local_now:
        end = end.replace(year=end.year + 1) if match["month"] else end + timedelta(days=1)
    return end.astimezone(UTC)
