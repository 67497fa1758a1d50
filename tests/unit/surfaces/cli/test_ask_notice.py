"""After a command in a terminal the person gets a notice about each new ask."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.domain.callers import Caller, Role
from maestro.operations.asks import AskList
from maestro.operations.task_shapes import TaskList
from maestro.testing.factories import make_ask

NOTE = "parser needs you: Which port?  (maestro ask show ask_1)\n"


@pytest.fixture(autouse=True)
def answered(app: Any) -> None:
    app.answers |= {"task.list": TaskList(tasks=[]), "ask.list": AskList(asks=[make_ask(id="ask_1")])}


async def test_each_ask_is_announced_once_after_the_next_command(cli: Any, app: Any) -> None:
    assert (await cli.run("task list", stderr_tty=True)).err.endswith(NOTE)
    assert NOTE not in (await cli.run("task list", stderr_tty=True)).err
    app.answers["ask.list"] = AskList(asks=[make_ask(id="ask_1"), make_ask(id="ask_2", title="And\nnow?")])
    said = (await cli.run("task list", stderr_tty=True)).err
    assert NOTE not in said and said.endswith("parser needs you: And now?  (maestro ask show ask_2)\n")


async def test_asks_are_announced_only_to_the_person_at_a_terminal(cli: Any, app: Any) -> None:
    assert NOTE not in (await cli.run("task list")).err
    app.caller = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id="prj_1")
    assert NOTE not in (await cli.run("task list", stderr_tty=True)).err
    assert not any(call.operation == "ask.list" for call in app.calls)
