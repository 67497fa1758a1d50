"""Carry out operations: check the caller's rights, open the transaction, apply idempotency keys.

Every surface calls operations through the dispatcher, so its checks hold for all surfaces.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec

from maestro.core import errors, limits
from maestro.domain.callers import Caller, Role, permits_role
from maestro.operations.base import Effect, Operation
from maestro.services.access.session_relations import require_live_caller
from maestro.services.quotas.quotas import Quotas
from maestro.services.redacting import hide_tokens
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.content_holds import StoreContent

_encode = msgspec.json.Encoder().encode
# Every call compares these members, and Python takes long to find a member of an enum.
_READ, _SCAN, _WRITE = Effect.READ, Effect.SCAN, Effect.WRITE


class Binding(msgspec.Struct, frozen=True):
    """The functions that carry out one operation."""

    # READ and WRITE: (tx, caller, request[, prepared]). ACTION: async (caller, request). STREAM: see `stream`.
    carry_out: Callable[..., Any]
    # Stores contents that must be on the disk before the transaction: (request, keep), in a thread.
    prepare_contents: Callable[[Any, StoreContent], Any] | None = None
    # Whether a request has contents to prepare.
    needs_preparation: Callable[[Any], bool] = msgspec.field(default=lambda request: True)
    # Refuses a request before its contents are on the disk, as far as a read can tell: (tx, caller, request).
    check_upload: Callable[[Tx, Caller, Any], None] | None = None
    # How many bytes of a prepared request count for the quota of its project.
    count_bytes: Callable[[Any], int] = msgspec.field(default=lambda request: 0)
    # WRITE only: updates data that the transaction needs, before the transaction begins, or refuses the request.
    before_write: Callable[[Caller, Any], Awaitable[None]] | None = None
    # WRITE only: work between the commit and the answer, which may replace the answer.
    after_commit: Callable[[Caller, Any, Any], Awaitable[Any]] | None = None
    # WRITE only: whether a request needs only a few statements by key.
    is_quick: Callable[[Any], bool] = msgspec.field(default=lambda request: False)
    # Remove a secret from the first answer before the answer is stored under its key, and put the secret back.
    hide_secret: Callable[[Any], Any] | None = None
    restore_secret: Callable[[Any], Any] | None = None
    # STREAM only: the endless form of the answer.
    stream_answers: Callable[[Caller, Any], AsyncIterator[Any]] | None = None


def is_always_quick(request: object) -> bool:
    """Return True: every request of the operation needs only a few statements by key."""
    return True


class Dispatcher:
    """The operations of a server, with their bindings."""

    def __init__(self, store: Store, blobs: Blobs, quotas: Quotas, bindings: Mapping[str, Binding]) -> None:
        self._store = store
        self._blobs = blobs
        self._quotas = quotas
        self._bindings = bindings

    async def call(self, operation: Operation, request: Any, *, caller: Caller, key: str = "") -> Any:
        """Carry out one operation."""
        require_permission(operation, caller)
        binding = self._bindings[operation.name]
        effect = operation.effect
        if effect is _WRITE:
            request = hide_tokens(request)
            if binding.before_write is not None:
                await binding.before_write(caller, request)
            answer = await self._write_request(operation, binding, request, caller, key)
            return await binding.after_commit(caller, request, answer) if binding.after_commit else answer
        if effect is _READ or effect is _SCAN:
            return await self._store.read(lambda tx: binding.carry_out(tx, caller, request), quick=effect is _READ)
        action: Awaitable[Any] = binding.carry_out(caller, hide_tokens(request))
        return await action

    def stream(self, operation: Operation, request: Any, *, caller: Caller) -> AsyncIterator[Any]:
        """Carry out an operation with many answers, and return the stream of answers."""
        require_permission(operation, caller)
        stream = self._bindings[operation.name].stream_answers
        assert stream is not None, f"{operation.name} is not a stream"
        return stream(caller, request)

    async def _write_request(
        self, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str
    ) -> Any:
        _require_valid_key(key)
        if binding.prepare_contents is None or not binding.needs_preparation(request):
            return await self._commit_request(operation, binding, request, caller, key)
        # A caller that leaves must not cancel the upload: its file would go although the row is committed later.
        upload = asyncio.ensure_future(self._upload_contents(operation, binding, request, caller, key))
        upload.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(upload)

    async def _upload_contents(
        self, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str
    ) -> Any:
        """Store contents on the disk, then write the rows that name the files. A refused request leaves no file."""
        assert binding.prepare_contents is not None
        quota_bytes = await self._store.read(
            lambda tx: self._check_upload(tx, binding, request, caller, key), quick=True
        )
        is_stored = False
        hold = self._blobs.new_hold()
        try:
            with hold:
                prepared = await asyncio.to_thread(binding.prepare_contents, request, hold.store_content)
                answer = await self._commit_request(operation, binding, request, caller, key, prepared)
                is_stored = True
        finally:
            if not is_stored:
                self._quotas.give_back_bytes(caller, quota_bytes)
                await self._discard_files(hold.digests)
        return answer

    def _check_upload(self, tx: Tx, binding: Binding, request: Any, caller: Caller, key: str) -> int:
        """Refuse an upload before its contents are stored, and return its bytes in the project's quota.

        A repeated idempotency key takes no quota: the caller gets the stored answer.
        """
        require_live_caller(tx, caller)
        if key and tx.idempotency.get(caller.name, key) is not None:
            return 0
        if binding.check_upload is not None:
            binding.check_upload(tx, caller, request)
        size = binding.count_bytes(request)
        self._quotas.count_bytes(caller, size, at=tx.at)
        return size

    async def _discard_files(self, digests: set[str]) -> None:
        """Remove the files of a refused request, except files that another request uses."""
        if not digests:
            return
        with contextlib.suppress(errors.StorageFailed):  # housekeeping removes the files later
            await self._store.write(
                lambda tx: self._blobs.discard_unneeded(digests, tx.documents.uses_blob), quick=True
            )

    async def _commit_request(
        self, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str, *extra: Any
    ) -> Any:
        quick = binding.is_quick(request)

        def carry_out(tx: Tx) -> Any:
            require_live_caller(tx, caller)
            return binding.carry_out(tx, caller, request, *extra)

        if not key:
            return await self._store.write(carry_out, quick=quick)

        def carry_out_once(tx: Tx) -> Any:
            require_live_caller(tx, caller)
            first = _find_first_answer(tx, operation, binding, request, caller, key)
            if first is not None:
                return first
            answer = binding.carry_out(tx, caller, request, *extra)
            stored = binding.hide_secret(answer) if binding.hide_secret else answer
            tx.idempotency.store_response(
                caller.name,
                key,
                operation=operation.name,
                request=_hash_request(request),
                response=_encode(stored),
                at=tx.at,
            )
            return answer

        return await self._store.write(carry_out_once, quick=quick)


def require_permission(operation: Operation, caller: Caller) -> None:
    """Refuse an operation that the caller's role or member does not allow."""
    if caller.deny and operation.name in caller.deny:
        raise errors.NotPermitted(
            f"Your member may not call {operation.name}.",
            hint="`maestro commands` lists the commands that you may run.",
            data={"role": caller.role, "operation": operation.name},
        )
    if permits_role(operation.callers, caller.role) or (caller.allow and operation.name in caller.allow):
        return
    if caller.role is Role.NOBODY:
        raise errors.NotAuthenticated(
            "Maestro does not know who is calling.",
            hint="Set MAESTRO_TOKEN, or call from a process of the person who runs the server.",
        )
    action = f"run `maestro {operation.command.command_path}`" if operation.command else f"call {operation.name}"
    raise errors.NotPermitted(
        f"A {caller.role} may not {action}.",
        hint="`maestro commands` lists the commands that you may run.",
        data={"role": caller.role, "operation": operation.name},
    )


def _find_first_answer(
    tx: Tx, operation: Operation, binding: Binding, request: Any, caller: Caller, key: str
) -> Any | None:
    """Return the stored answer of an idempotency key, or None; refuse a key that belongs to another request."""
    stored = tx.idempotency.get(caller.name, key)
    if stored is None:
        return None
    if stored.operation != operation.name or stored.request != _hash_request(request):
        raise errors.KeyReused(data={"key": key, "operation": stored.operation})
    first = msgspec.json.decode(stored.response, type=operation.response)
    return binding.restore_secret(first) if binding.restore_secret else first


def _require_valid_key(key: str) -> None:
    if len(key) > limits.idempotency_key_chars_max or not key.isprintable():
        raise errors.Invalid(
            f"An idempotency key has at most {limits.idempotency_key_chars_max} printable characters."
        )


def _hash_request(request: Any) -> str:
    return hashlib.sha256(_encode(request)).hexdigest()
