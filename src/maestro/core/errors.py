"""The one error tree. Every layer raises these; each surface maps them once.

    MaestroError
    ├── Invalid               the request itself is wrong
    │   └── TooLarge
    ├── NotAuthenticated      nobody we know is calling
    ├── NotPermitted          known, but not allowed
    ├── NotFound
    ├── Conflict              right request, wrong moment
    │   ├── IllegalMove       the task is in another status
    │   ├── NotReady          something blocks the task
    │   ├── ClaimLost         the claim's number is old: someone else has claimed since
    │   │   ├── AlreadyHeld   someone holds it, perhaps the caller
    │   │   └── NotHeld       the caller does not hold it
    │   ├── Cycle             the dependency would wait on itself
    │   ├── Ambiguous         a name that fits two things
    │   ├── NameTaken
    │   ├── LimitReached      there is no room for another now
    │   ├── TooFast           too many messages to one recipient
    │   ├── Looping           two agents answer each other without end
    │   └── KeyReused         an idempotency key came with another request
    ├── NotStarted            a session's program does not run
    ├── TimedOut
    ├── NotConfirmed          accepted, but its effect was not seen in time
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
        │   ├── FileDamaged   a file beside the database has other content than its name says
        │   └── FileMissing   a file beside the database is not there
        └── DataInUse         another server holds this data directory

A class's docstring is its default message. `code` is stable: it survives the wire.
"""

from __future__ import annotations

import errno
from typing import Any, ClassVar


class MaestroError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "failed"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str = "", *, hint: str = "", data: dict[str, Any] | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.hint = hint
        self.data = data or {}
        super().__init__(self.message)

    def as_dict(self) -> dict[str, Any]:
        """The shape every surface answers with."""
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
    """This is larger than the limit."""

    code = "too_large"


class NotAuthenticated(MaestroError):
    """No valid token came with the request."""

    code = "not_authenticated"


class NotPermitted(MaestroError):
    """The caller may not do this."""

    code = "not_permitted"


class NotFound(MaestroError):
    """There is no such thing."""

    code = "not_found"


class Conflict(MaestroError):
    """This cannot be done in the present state."""

    code = "conflict"


class IllegalMove(Conflict):
    """The task cannot make this move from its status."""

    code = "illegal_move"


class NotReady(Conflict):
    """The task still waits on others."""

    code = "not_ready"


class ClaimLost(Conflict):
    """The claim is no longer valid."""

    code = "claim_lost"


class AlreadyHeld(ClaimLost):
    """Someone holds this task already."""

    code = "already_held"


class NotHeld(ClaimLost):
    """The caller does not hold this task."""

    code = "not_held"


class Cycle(Conflict):
    """The dependency would close a cycle."""

    code = "cycle"


class Ambiguous(Conflict):
    """The name fits more than one thing."""

    code = "ambiguous"


class NameTaken(Conflict):
    """The name is already taken."""

    code = "name_taken"


class LimitReached(Conflict):
    """There is no room for another now."""

    code = "limit_reached"
    retryable = True


class TooFast(Conflict):
    """Too many messages went to this recipient within a minute."""

    code = "too_fast"
    retryable = True


class Looping(Conflict):
    """This conversation answers itself."""

    code = "looping"


class KeyReused(Conflict):
    """This idempotency key came before with another request."""

    code = "key_reused"


class NotStarted(MaestroError):
    """The program could not be started."""

    code = "not_started"


class TimedOut(MaestroError):
    """The time ran out."""

    code = "timed_out"
    retryable = True


class NotConfirmed(MaestroError):
    """Accepted, but not confirmed in time."""

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
    """The server has not enough memory for this request. Nothing of it was stored."""

    code = "out_of_memory"


class OutOfDescriptors(Exhausted):
    """The server may not open any more files or connections."""

    code = "out_of_descriptors"


class StorageFailed(MaestroError):
    """The data could not be stored."""

    code = "storage_failed"
    retryable = True


class StorageFull(StorageFailed):
    """The disk is full: nothing of this request was stored."""

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
    """Another server uses this data directory."""

    code = "data_in_use"
    retryable = False


IO_HINT = "Check the disk and the system's log (dmesg). Back up to another disk: maestro backup FILE"
DAMAGE_HINT = "docs/recovery.md says how to go back to a backup: maestro down, maestro restore FILE."


MEMORY_HINT = "Send less at once, or give the server more memory; then send the same again."
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


def storage_fault(error: OSError, what: str) -> StorageFailed:
    """What the system said about a file, in our words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull(f"{what}: the disk is full.", hint="Free some space; then send the same again.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageReadOnly(
            f"{what}: {error.strerror}.", hint="Check who owns it and whether its disk is read-only."
        )
    if error.errno == errno.EIO:
        return StorageIOFailed(f"{what}: {error.strerror}.", hint=IO_HINT)
    return StorageFailed(f"{what}: {error.strerror or error}.")


def every_error() -> dict[str, type[MaestroError]]:
    """Each class of the tree by its code, for whoever reads errors off a wire."""
    found: dict[str, type[MaestroError]] = {}
    waiting: list[type[MaestroError]] = [MaestroError]
    while waiting:
        kind = waiting.pop()
        found[kind.code] = kind
        waiting.extend(kind.__subclasses__())
    return found
