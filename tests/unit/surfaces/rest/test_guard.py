"""The header guard accepts only the hosts of this server and the origins of its own pages."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.surfaces.rest import guard
from maestro.surfaces.rest.guard import HeaderGuard

GUARD = HeaderGuard(["maestro.example"])


def check(*headers: tuple[bytes, bytes]) -> None:
    GUARD.check_headers(list(headers))


@pytest.mark.parametrize("host", [b"127.0.0.1:80", b"localhost", b"[::1]:4900", b"[::1]", b"Maestro.Example:1"])
def test_the_hosts_of_the_server_are_accepted(host: bytes) -> None:
    check((b"host", host))
    check((b"host", host), (b"origin", b"http://" + host))


@pytest.mark.parametrize(
    "host",
    [
        *(
            b"",
            b"evil",
            b"[::1]evil",
            b"[::1",
            b"127.0.0.1:80@evil",
            b"127.0.0.1@evil",
            b"localhost:",
            b"localhost:x",
        ),
        *(b"localhost:80:80", b"127.0.0.1 evil", b"localhost/evil", b"evil\\localhost", b"localhost:999999"),
    ],
)
def test_other_hosts_are_refused(host: bytes) -> None:
    with pytest.raises(errors.NotPermitted):
        check((b"host", host))


@pytest.mark.parametrize(
    "origin",
    [
        b"https://localhost:80",
        b"file://localhost:80",
        b"null",
        b"",
        b"http://evil",
        b"localhost:80",
        b"http://localhost",
    ],
)
def test_other_origins_are_refused(origin: bytes) -> None:
    with pytest.raises(errors.NotPermitted):
        check((b"host", b"localhost:80"), (b"origin", origin))


def test_an_https_origin_of_an_allowed_host_name_is_accepted() -> None:
    check((b"host", b"maestro.example"), (b"origin", b"https://maestro.example"))


@pytest.mark.parametrize("name", [b"host", b"origin"])
def test_a_doubled_host_or_origin_header_is_refused(name: bytes) -> None:
    twice = ((name, b"http://localhost" if name == b"origin" else b"localhost"),) * 2
    with pytest.raises(errors.NotPermitted):
        check((b"host", b"localhost"), *twice)


def test_many_different_hosts_are_checked_with_bounded_memory() -> None:
    checker = HeaderGuard([])
    for number in range(guard._CHECKED_HOSTS_MAX + 10):
        checker.check_headers([(b"host", b"localhost:%d" % number)])
    assert len(checker._checked_hosts) == guard._CHECKED_HOSTS_MAX
