"""The repository of gate results and their output."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from maestro.core import ids
from maestro.domain.documents import StoredContent
from maestro.domain.gates import GateResult
from maestro.domain.sandboxes import SandboxMode
from maestro.domain.sessions import Session
from maestro.store.base import Store, Tx
from maestro.testing.clock import FakeClock
from maestro.testing.factories import make_task


async def test_gate_results_keep_every_field_and_are_listed_newest_first(
    store: Store, enter: Callable[..., Awaitable[Session]], clock: FakeClock
) -> None:
    session, task, results = await enter("w"), make_task(), []
    for passed in (True, False, True):
        clock.advance(0.01)
        results.append(
            GateResult(
                id=ids.new_id("gat", clock.now()),
                task_id=task.id,
                session_id=session.id if passed else None,
                command="make 'test' ✓",
                passed=passed,
                exit_code=0 if passed else None,
                seconds=1.25,
                created_at=clock.now(),
                sandbox=SandboxMode.BUBBLEWRAP if passed else SandboxMode.NONE,
            )
        )
    outputs = [
        StoredContent(b"\xff\x00", None, 2, ""),
        StoredContent(None, "f" * 64, 9, ""),
        StoredContent(b"", None, 0, ""),
    ]

    def insert(tx: Tx) -> None:
        tx.tasks.insert(task)
        for result, output in zip(results, outputs, strict=True):
            tx.gates.insert(result, output)

    await store.write(insert)
    assert await store.read(lambda tx: tx.gates.of_task(task.id, limit=9)) == results[::-1]
    assert await store.read(lambda tx: tx.gates.of_task(task.id, limit=1)) == results[-1:]
    assert await store.read(lambda tx: tx.gates.of_task("tsk_unknown", limit=9)) == []
    first = await store.read(lambda tx: tx.gates.get_output(results[0].id))
    assert first is not None and (first[0], first[1].body, first[1].blob) == (task.id, b"\xff\x00", None)
    second = await store.read(lambda tx: tx.gates.get_output(results[1].id))
    assert second is not None and (second[1].body, second[1].blob) == (None, "f" * 64)
    assert await store.read(lambda tx: tx.gates.get_output("gat_unknown")) is None
    assert await store.read(lambda tx: tx.documents.uses_blob("f" * 64))
