"""Every error class has an HTTP status."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.surfaces.rest.statuses import status_of


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.Invalid, 400),
        (errors.NotFound, 404),
        (errors.NameTaken, 409),
        (errors.TooLarge, 413),
        (errors.StorageFull, 507),
        (errors.MaestroError, 500),
    ],
)
def test_an_error_has_the_http_status_of_its_nearest_class_with_a_status(
    kind: type[errors.MaestroError], status: int
) -> None:
    assert status_of(kind) == status


def test_every_error_class_has_an_http_status() -> None:
    def all_classes(kind: type[errors.MaestroError]) -> list[type[errors.MaestroError]]:
        return [kind, *(below for child in kind.__subclasses__() for below in all_classes(child))]

    assert all(status_of(kind) in range(200, 600) for kind in all_classes(errors.MaestroError))
