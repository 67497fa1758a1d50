"""Carries out operations: checks who may, opens the transaction, honours idempotency keys.

Every surface comes through here, so what holds here holds everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role, permits
from maestro.operations.base import Effect, Operation
from maestro.services.quotas import Quotas
from maestro.services.redacting import hide_tokens
from maestro.services.sessions.kin import require_live
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.holds import Keep

T = TypeVar("T", bound=msgspec.Struct)
_encode = msgspec.json.Encoder().encode
# Every call looks at these, and Python takes long to find a member of an enum.
_READ, _SCAN, _WRITE = Effect.READ, Effect.SCAN, Effect.WRITE


@dataclass(frozen=True)
class Binding:
    """How one operation is done."""

    # READ and WRITE: (tx, caller, request[, prepared]). ACTION: async (caller, request). STREAM: see `stream`.
    do: Callable[..., Any]
    # Contents that must be on the disk before the transaction: (request, keep), in a thread.
    prepare: Callable[[Any, Keep], Any] | None = None
    # Whether a request has anything to prepare.
    prepares: Callable[[Any], bool] = field(default=lambda request: True)
    # Refuses a request before anything of it is on the disk, as far as a look can tell: (tx, caller, request).
    check: Callable[[Tx, Caller, Any], None] | None = None
    # How many bytes of a request that prepares count for the quota of its project.
    weighs: Callable[[Any], int] = field(default=lambda request: 0)
    # WRITE only: what must be up to date before the transaction begins, or may refuse the request.
    before: Callable[[Caller, Any], Awaitable[None]] | None = None
    # WRITE only: what the answer waits for after the commit.
    after: Callable[[Caller, Any, Any], Awaitable[Any]] | None = None
    # WRITE only: whether a request needs a few statements by key and no more.
    quick: Callable[[Any], bool] = field(default=lambda request: False)
    # What to change in a first answer before it is kept under its key (a secret), and how to put it back.
    conceal: Callable[[Any], Any] | None = None
    reveal: Callable[[Any], Any] | None = None
    # STREAM only: the endless form beside the page.
    stream: Callable[[Caller, Any], AsyncIterator[Any]] | None = None


class Dispatcher:
    """Operations, bound to what does them."""

    def __init__(self, store: Store, blobs: Blobs, quotas: Quotas, bindings: Mapping[str, Binding]) -> None:
        self._store = store
        self._blobs = blobs
        self._quotas = quotas
        self._bindings = bindings

    async def call(self, operation: Operation, request: Any, *, caller: Caller, key: str = "") -> Any:
        """Carry out one operation."""
        permit(operation, caller)
        binding = self._bindings[operation.name]
        effect = operation.effect
        if effect is _WRITE:
            request = hide_tokens(request)
            if binding.before is not None:
                await binding.before(caller, request)
            answer = await self._write(operation, binding, request, caller, key)
            return await binding.after(caller, request, answer) if binding.after else answer
        if effect is _READ or effect is _SCAN:
            return await self._store.read(lambda tx: binding.do(tx, caller, request), quick=effect is _READ)
        action: Awaitable[Any] = binding.do(caller, hide_tokens(request))
        return await action

    def stream(self, operation: Operation, request: Any, *, caller: Caller) -> AsyncIterator[Any]:
        """Carry out an operation with many answers."""
        permit(operation, caller)
        stream = self._bindings[operation.name].stream
        assert stream is not None, f"{operation.name} is not a stream"
        return stream(caller, request)

    async def _write(self, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str) -> Any:
        _check_key(key)
        if binding.prepare is None or not binding.prepares(request):
            return await self._commit(operation, binding, request, caller, key)
        # A caller that goes away must not cancel this: the file would be removed although its row is committed later.
        upload = asyncio.ensure_future(self._upload(operation, binding, request, caller, key))
        upload.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(upload)

    async def _upload(self, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str) -> Any:
        """Put contents on the disk, then write the rows that name them. A refused request leaves no file."""
        assert binding.prepare is not None
        taken = await self._store.read(lambda tx: self._look(tx, binding, request, caller, key), quick=True)
        is_stored = False
        hold = self._blobs.hold()
        try:
            with hold:
                prepared = await asyncio.to_thread(binding.prepare, request, hold.keep)
                answer = await self._commit(operation, binding, request, caller, key, prepared)
                is_stored = True
        finally:
            if not is_stored:
                self._quotas.give_back_bytes(caller, taken)
                await self._discard(hold.digests)
        return answer

    def _look(self, tx: Tx, binding: Binding, request: Any, caller: Caller, key: str) -> int:
        """Refuse an upload before its contents are stored, and return how many bytes it takes of its project's quota.

        A repeated idempotency key gets the stored answer.
        """
        require_live(tx, caller)
        if key and tx.idempotency.get(caller.name, key) is not None:
            return 0
        if binding.check is not None:
            binding.check(tx, caller, request)
        size = binding.weighs(request)
        self._quotas.take_bytes(caller, size, at=tx.at)
        return size

    async def _discard(self, digests: set[str]) -> None:
        """Remove the files of a refused request, unless another one needs them."""
        if not digests:
            return
        with contextlib.suppress(errors.StorageFailed):  # then upkeep finds the files later
            await self._store.write(lambda tx: self._blobs.discard(digests, tx.documents.uses_blob), quick=True)

    async def _commit(
        self, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str, *extra: Any
    ) -> Any:
        quick = binding.quick(request)

        def do(tx: Tx) -> Any:
            require_live(tx, caller)
            return binding.do(tx, caller, request, *extra)

        if not key:
            return await self._store.write(do, quick=quick)

        def once(tx: Tx) -> Any:
            require_live(tx, caller)
            first = _first_answer(tx, operation, binding, request, caller, key)
            if first is not None:
                return first
            answer = binding.do(tx, caller, request, *extra)
            kept = binding.conceal(answer) if binding.conceal else answer
            tx.idempotency.keep(
                caller.name,
                key,
                operation=operation.name,
                request=_digest(request),
                response=_encode(kept),
                at=tx.at,
            )
            return answer

        return await self._store.write(once, quick=quick)


def permit(operation: Operation, caller: Caller) -> None:
    """The one check of role against operation."""
    if caller.deny and operation.name in caller.deny:
        raise errors.NotPermitted(
            f"Your member may not call {operation.name}.",
            hint="`maestro commands` lists what you may.",
            data={"role": caller.role, "operation": operation.name},
        )
    if permits(operation.callers, caller.role) or (caller.allow and operation.name in caller.allow):
        return
    if caller.role is Role.NOBODY:
        raise errors.NotAuthenticated(
            "Maestro does not know who is calling.",
            hint="Set MAESTRO_TOKEN, or call from a process of the person who runs the server.",
        )
    what = f"run `maestro {operation.command.words}`" if operation.command else f"call {operation.name}"
    raise errors.NotPermitted(
        f"A {caller.role} may not {what}.",
        hint="`maestro commands` lists what you may.",
        data={"role": caller.role, "operation": operation.name},
    )


def _first_answer(
    tx: Tx, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str
) -> Any | None:
    found = tx.idempotency.get(caller.name, key)
    if found is None:
        return None
    name, digest, response = found
    if name != operation.name or digest != _digest(request):
        raise errors.KeyReused(data={"key": key, "operation": name})
    first = msgspec.json.decode(response, type=operation.response)
    return binding.reveal(first) if binding.reveal else first


def _check_key(key: str) -> None:
    if len(key) > limits.idempotency_key_chars_max or not key.isprintable():
        raise errors.Invalid(
            f"An idempotency key has at most {limits.idempotency_key_chars_max} printable characters."
        )


def _digest(request: Any) -> str:
    return hashlib.sha256(_encode(request)).hexdigest()
