"""Effects across nouns: points at which services of other nouns act in the transaction of a change.

A service may import only services below it in the order of `services/`. Where a change must reach a service above,
the service calls an effect. `server/effects.py` binds every effect: its table shows all consequences in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec

from maestro.domain.asks import Ask
from maestro.domain.callers import Caller
from maestro.domain.projects import Project
from maestro.domain.sessions import Session
from maestro.domain.tasks import TaskMove
from maestro.store.base import Tx

P = ParamSpec("P")


class TransactionEffect(Generic[P]):
    """A kind of change, and the handlers that run in its transaction, in their order."""

    def __init__(self) -> None:
        self._handlers: tuple[Callable[P, None], ...] | None = None

    def bind(self, *handlers: Callable[P, None]) -> None:
        self._handlers = handlers

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> None:
        assert self._handlers is not None, "server/effects.py must bind this effect"
        for handler in self._handlers:
            handler(*args, **kwargs)


# The task has moved; the text was given with the move.
task_moved: TransactionEffect[[Tx, Caller, TaskMove, str]] = TransactionEffect()
# The project has other stages than before.
stages_changed: TransactionEffect[[Tx, Caller, Project]] = TransactionEffect()
# The session has ended; the caller ended it.
session_ended: TransactionEffect[[Tx, Session, Caller]] = TransactionEffect()
# The session with this id no longer waits for answers; the actor is the cause.
answers_not_needed: TransactionEffect[[Tx, str, str]] = TransactionEffect()
# The person took the choice with this code; the code of a free text is empty. A handler may refuse the answer.
ask_answered: TransactionEffect[[Tx, Ask, str]] = TransactionEffect()
