"""Each error has a stable code, and each fault of the system becomes an error that names the fault."""

from __future__ import annotations

import errno
import os

import pytest

from maestro.core import errors
from maestro.core.errors import (
    MaestroError,
    OutOfDescriptors,
    OutOfMemory,
    StorageFailed,
    StorageFull,
    StorageIOFailed,
    StorageReadOnly,
)


def system_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def all_error_classes() -> list[type[MaestroError]]:
    found: list[type[MaestroError]] = [MaestroError]
    for error_class in found:
        found.extend(error_class.__subclasses__())
    return found


def test_the_docstring_of_an_error_class_is_its_default_message() -> None:
    assert errors.NotFound().message == "The named object does not exist."
    assert str(errors.NotFound("No task #7.")) == "No task #7."


def test_an_error_has_the_same_fields_for_every_surface() -> None:
    refused = errors.TooFast("Wait.", hint="Later.", data={"seconds": 3})
    assert refused.as_dict() == {
        "code": "too_fast",
        "message": "Wait.",
        "hint": "Later.",
        "retryable": True,
        "data": {"seconds": 3},
    }
    assert errors.Invalid().as_dict()["data"] == {}


def test_every_error_class_has_a_code_of_its_own_and_a_message() -> None:
    classes = all_error_classes()
    by_code = errors.errors_by_code()
    assert set(by_code.values()) == set(classes) and len(by_code) == len(classes)
    assert [error_class for error_class in classes if not error_class().message] == []


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (MemoryError(), OutOfMemory),
        (system_error(errno.ENOMEM), OutOfMemory),
        (system_error(errno.EMFILE), OutOfDescriptors),
        (system_error(errno.ENFILE), OutOfDescriptors),
    ],
)
def test_a_missing_resource_of_the_system_gets_a_retryable_error_with_a_hint(
    problem: Exception, expected: type[errors.Exhausted]
) -> None:
    found = errors.system_fault(problem)
    assert type(found) is expected and found.retryable and found.hint


@pytest.mark.parametrize("problem", [ValueError("x"), system_error(errno.ENOENT), system_error(errno.ENOSPC)])
def test_other_problems_are_not_reported_as_a_missing_resource(problem: Exception) -> None:
    assert errors.system_fault(problem) is None


@pytest.mark.parametrize(
    ("number", "expected", "retryable"),
    [
        (errno.ENOSPC, StorageFull, True),
        (errno.EDQUOT, StorageFull, True),
        (errno.EACCES, StorageReadOnly, False),
        (errno.EPERM, StorageReadOnly, False),
        (errno.EROFS, StorageReadOnly, False),
        (errno.EIO, StorageIOFailed, True),
        (errno.ENOENT, StorageFailed, True),
    ],
)
def test_each_fault_of_the_disk_gets_its_own_error_class(
    number: int, expected: type[StorageFailed], retryable: bool
) -> None:
    found = errors.storage_fault(system_error(number), "The file notes cannot be written")
    assert type(found) is expected and found.retryable is retryable
    assert found.message.startswith("The file notes cannot be written: ") and found.message.endswith(".")


def test_a_disk_fault_without_an_error_number_keeps_its_text() -> None:
    assert errors.storage_fault(OSError("odd"), "Reading failed").message == "Reading failed: odd."
