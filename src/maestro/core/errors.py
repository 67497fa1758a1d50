"""The error tree of Maestro. Every layer raises these errors, and each surface maps them in one place.

    MaestroError
    ├── Invalid               the request itself is wrong
    │   └── TooLarge
    ├── NotAuthenticated      the server does not know the caller
    ├── NotPermitted          the caller may not do this
    ├── NotFound
    ├── Conflict              the request is valid, but not in the present state
    │   ├── IllegalMove       the task is in another status
    │   ├── NotReady          the task waits on other tasks or on its stage
    │   ├── ClaimLost         the claim's fence is old: another caller has claimed the task since
    │   │   ├── AlreadyHeld   a session or person holds the task, perhaps the caller
    │   │   └── NotHeld       the caller does not hold the task
    │   ├── Cycle             the dependency would close a cycle
    │   ├── Ambiguous         the name matches two objects
    │   ├── NameTaken
    │   ├── LimitReached      a limit on the number of objects is reached
    │   ├── TooFast           too many messages to one recipient
    │   ├── Looping           two agents answer each other in a loop
    │   └── KeyReused         an earlier, different request used the idempotency key
    ├── NotStarted            a session's program could not be started
    ├── TimedOut
    ├── NotConfirmed          the request was accepted, but its effect was not seen in time
    ├── NoServer
    ├── Exhausted             the server lacks a resource of the system
    │   ├── OutOfMemory
    │   └── OutOfDescriptors
    └── StorageFailed         the data could not be written or read
        ├── StorageFull
        ├── StorageReadOnly
        ├── StorageExposed    other users can read or change the data directory
        ├── StorageTooNew     written by a newer Maestro
        ├── StorageIOFailed   the disk reports an input/output error
        ├── StorageGone       the database file was removed or replaced under the server
        ├── StorageDamaged    the database is damaged, or events are missing from it
        │   ├── FileDamaged   the content of a file beside the database does not match its name
        │   └── FileMissing   a file beside the database does not exist
        └── DataInUse         another server holds this data directory

The docstring of a class is its default message. `code` is part of the public interface.
"""

from __future__ import annotations

import errno
from typing import Any, ClassVar


class MaestroError(Exception):
    """The request failed."""

    code: ClassVar[str] = "failed"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str = "", *, hint: str = "", data: dict[str, Any] | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.hint = hint
        self.data = data or {}
        super().__init__(self.message)

    def as_dict(self) -> dict[str, Any]:
        """Return the error in the form of every surface's answer."""
        return {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
            "data": self.data,
        }


class Invalid(MaestroError):
    """The request is not valid."""

    code = "invalid"


class TooLarge(Invalid):
    """The request is larger than the limit."""

    code = "too_large"


class NotAuthenticated(MaestroError):
    """No valid token came with the request."""

    code = "not_authenticated"


class NotPermitted(MaestroError):
    """The caller may not call this operation."""

    code = "not_permitted"


class NotFound(MaestroError):
    """The named object does not exist."""

    code = "not_found"


class Conflict(MaestroError):
    """The request is not possible in the present state."""

    code = "conflict"


class IllegalMove(Conflict):
    """The move is not possible from the task's status."""

    code = "illegal_move"


class NotReady(Conflict):
    """The task still waits on other tasks."""

    code = "not_ready"


class ClaimLost(Conflict):
    """The claim is no longer valid."""

    code = "claim_lost"


class AlreadyHeld(ClaimLost):
    """A session or person already holds the task."""

    code = "already_held"


class NotHeld(ClaimLost):
    """The caller does not hold the task."""

    code = "not_held"


class Cycle(Conflict):
    """The dependency would close a cycle."""

    code = "cycle"


class Ambiguous(Conflict):
    """The name matches more than one object."""

    code = "ambiguous"


class NameTaken(Conflict):
    """The name is already taken."""

    code = "name_taken"


class LimitReached(Conflict):
    """A limit is reached. Try again later."""

    code = "limit_reached"
    retryable = True


class TooFast(Conflict):
    """Too many messages to one recipient within a minute. Try again later."""

    code = "too_fast"
    retryable = True


class Looping(Conflict):
    """Two agents answer each other in a loop."""

    code = "looping"


class KeyReused(Conflict):
    """An earlier, different request used the same idempotency key."""

    code = "key_reused"


class NotStarted(MaestroError):
    """The program could not be started."""

    code = "not_started"


class TimedOut(MaestroError):
    """The time limit was reached."""

    code = "timed_out"
    retryable = True


class NotConfirmed(MaestroError):
    """The request was accepted, but not confirmed in time."""

    code = "not_confirmed"


class NoServer(MaestroError):
    """No server answers."""

    code = "no_server"
    retryable = True


class Exhausted(MaestroError):
    """The server lacks a resource of the system."""

    code = "exhausted"
    retryable = True


class OutOfMemory(Exhausted):
    """The server has not enough memory for the request. Nothing was stored."""

    code = "out_of_memory"


class OutOfDescriptors(Exhausted):
    """The server may not open any more files or connections."""

    code = "out_of_descriptors"


class StorageFailed(MaestroError):
    """The data could not be stored."""

    code = "storage_failed"
    retryable = True


class StorageFull(StorageFailed):
    """The disk is full. Nothing of the request was stored."""

    code = "storage_full"


class StorageReadOnly(StorageFailed):
    """The data directory cannot be written."""

    code = "storage_read_only"
    retryable = False


class StorageExposed(StorageFailed):
    """Other users can read or change the data directory."""

    code = "storage_exposed"
    retryable = False


class StorageTooNew(StorageFailed):
    """The data was written by a newer Maestro."""

    code = "storage_too_new"
    retryable = False


class StorageIOFailed(StorageFailed):
    """The disk reports an input/output error."""

    code = "storage_io_failed"


class StorageGone(StorageFailed):
    """The database file was removed or replaced while the server used it. The server stops."""

    code = "storage_gone"
    retryable = False


class StorageDamaged(StorageFailed):
    """The stored data is damaged."""

    code = "storage_damaged"
    retryable = False


class FileDamaged(StorageDamaged):
    """A file beside the database is damaged."""

    code = "file_damaged"


class FileMissing(StorageDamaged):
    """A file beside the database is missing."""

    code = "file_missing"


class DataInUse(StorageFailed):
    """Another process uses the data directory."""

    code = "data_in_use"
    retryable = False


IO_HINT = "Check the disk and the system's log (dmesg). Back up to another disk: maestro backup FILE"
DAMAGE_HINT = "Restore a backup as docs/recovery.md explains: maestro down, maestro restore FILE."


MEMORY_HINT = "Send a smaller request, or give the server more memory; then send the request again."
DESCRIPTORS_HINT = "Close idle connections, or raise the limit (ulimit -n) and restart: maestro down, maestro up."


def system_fault(problem: Exception) -> Exhausted | None:
    """Return the error that names a lack of memory or descriptors; None for any other problem."""
    if isinstance(problem, MemoryError):
        return OutOfMemory(hint=MEMORY_HINT)
    if isinstance(problem, OSError) and problem.errno in (errno.EMFILE, errno.ENFILE):
        return OutOfDescriptors(hint=DESCRIPTORS_HINT)
    if isinstance(problem, OSError) and problem.errno == errno.ENOMEM:
        return OutOfMemory(hint=MEMORY_HINT)
    return None


def storage_fault(error: OSError, failed_action: str) -> StorageFailed:
    """Return the storage error for a system error; `failed_action` begins its message."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(
            f"{failed_action}: the disk is full.", hint="Free some space, then send the same request again."
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageReadOnly(
            f"{failed_action}: {error.strerror}.",
            hint="Check the owner of the file and whether its disk is read-only.",
        )
    if error.errno == errno.EIO:
        return StorageIOFailed(f"{failed_action}: {error.strerror}.", hint=IO_HINT)
    return StorageFailed(f"{failed_action}: {error.strerror or error}.")


def errors_by_code() -> dict[str, type[MaestroError]]:
    """Return every error class by its code, for clients that read an error from an answer."""
    found: dict[str, type[MaestroError]] = {}
    pending: list[type[MaestroError]] = [MaestroError]
    while pending:
        error_class = pending.pop()
        found[error_class.code] = error_class
        pending.extend(error_class.__subclasses__())
    return found
