"""The server reserves its last descriptors and limits the number of connections without a caller."""

from __future__ import annotations

import resource
from collections.abc import Callable

import pytest

from maestro.core import limits
from maestro.server import connection_limits
from maestro.server.connection_limits import UnidentifiedConnections


@pytest.fixture
def set_file_limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets the limit of open files that the system reports."""

    def set_limit(files_max: int) -> None:
        monkeypatch.setattr(connection_limits.resource, "getrlimit", lambda which: (files_max, files_max))

    return set_limit


class Connection:
    """A connection that records whether the server closed it."""

    is_open = True

    def turn_away(self) -> None:
        self.is_open = False


def test_a_connection_with_a_reserved_descriptor_is_refused(set_file_limit: Callable[[int], None]) -> None:
    set_file_limit(100)
    first_reserved = 100 - limits.descriptors_reserved
    assert connection_limits.refuse_high_descriptor(first_reserved - 1) is None
    refusal = connection_limits.refuse_high_descriptor(first_reserved)
    assert refusal is not None and refusal.data == {"descriptors_max": 100}


def test_without_a_limit_of_open_files_no_descriptor_is_refused(set_file_limit: Callable[[int], None]) -> None:
    set_file_limit(resource.RLIM_INFINITY)
    assert connection_limits.refuse_high_descriptor(10**6) is None
    assert connection_limits.unidentified_max() == limits.http_unidentified_connections_max


@pytest.mark.parametrize(
    ("files_max", "expected"), [(40, 10), (2, 1), (10**6, limits.http_unidentified_connections_max)]
)
def test_unidentified_connections_get_a_share_of_the_limit_of_open_files(
    set_file_limit: Callable[[int], None], files_max: int, expected: int
) -> None:
    set_file_limit(files_max)
    assert connection_limits.unidentified_max() == expected


def test_a_new_unidentified_connection_above_the_limit_closes_the_oldest() -> None:
    connections, unidentified = [Connection() for _ in range(3)], UnidentifiedConnections(connections_max=2)
    for connection in connections:
        unidentified.add(connection)
    assert [connection.is_open for connection in connections] == [False, True, True]


def test_a_connection_with_a_caller_does_not_count_as_unidentified() -> None:
    known, unidentified = Connection(), UnidentifiedConnections(connections_max=1)
    unidentified.add(known)
    unidentified.discard(known)
    unidentified.discard(known)
    unidentified.add(Connection())
    assert known.is_open
