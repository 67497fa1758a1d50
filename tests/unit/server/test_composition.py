"""A server is composed of parts: each operation is bound by one part, and each background job has its own name."""

from __future__ import annotations

import pytest

from maestro.server.app import Server
from maestro.server.composition import collect_bindings
from maestro.server.dispatch import Binding
from maestro.server.part import Part


def test_the_bindings_of_all_parts_are_collected() -> None:
    one, two = Binding(lambda: 1), Binding(lambda: 2)
    assert collect_bindings([Part(bindings={"a": one}), Part(), Part(bindings={"b": two})]) == {"a": one, "b": two}


def test_two_parts_that_bind_the_same_operation_are_refused() -> None:
    binding = Binding(lambda: None)
    with pytest.raises(AssertionError, match=r"two parts bind task\.list"):
        collect_bindings([Part(bindings={"task.list": binding}), Part(bindings={"task.list": binding})])


async def test_each_background_job_has_its_own_name(server: Server) -> None:
    names = [entry.job.name for part in server.parts.in_order() for entry in part.jobs]
    assert names and len(set(names)) == len(names)
