"""The numbers that `bd` uses for priorities. Pure."""

from __future__ import annotations

from maestro.domain.priorities import Priority

# The position of a priority is its number in bd.
_BY_NUMBER = (Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW)


def priority_number(priority: Priority) -> int:
    """Return the number of a priority in bd."""
    return _BY_NUMBER.index(priority)


def priority_of_number(number: int) -> Priority:
    """Return the priority of a number in bd. A number beyond the known numbers gives the nearest priority."""
    return _BY_NUMBER[min(max(number, 0), len(_BY_NUMBER) - 1)]
