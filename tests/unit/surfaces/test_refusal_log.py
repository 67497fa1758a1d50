"""Refusals with a cause in the server are logged: the first at once, and further refusals as a count."""

from __future__ import annotations

import asyncio
import errno

import pytest

from maestro.core import errors, limits
from maestro.surfaces.refusal_log import RefusalLog


async def test_refusals_that_the_caller_caused_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    RefusalLog().log_refusal(errors.NotFound("missing"))
    assert caplog.messages == []


async def test_the_first_refusal_of_a_kind_is_logged_at_once_and_others_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refusals = RefusalLog()
    for number in range(3):
        refusals.log_refusal(errors.StorageFailed(f"disk {number}"))
    refusals.log_refusal(errors.Exhausted("memory"))
    assert caplog.messages == [
        f"refused 1 request: {errors.StorageFailed.code}: disk 0",
        f"refused 1 request: {errors.Exhausted.code}: memory",
    ]
    refusals.flush()
    assert caplog.messages[2:] == [f"refused 2 requests: {errors.StorageFailed.code}: disk 2"]


async def test_counted_refusals_are_logged_after_the_interval(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "refusal_log_seconds", 0.001)
    refusals = RefusalLog()
    refusals.log_refusal(errors.StorageFailed("first"))
    refusals.log_refusal(errors.StorageFailed("second"))
    async with asyncio.timeout(10):
        while len(caplog.messages) < 2:  # noqa: ASYNC110 (the log has no event to wait for)
            await asyncio.sleep(0.001)
    assert "second" in caplog.messages[1]


async def test_only_a_lack_of_system_resources_is_logged_as_a_system_fault(caplog: pytest.LogCaptureFixture) -> None:
    refusals = RefusalLog()
    assert refusals.find_system_fault(ValueError("a bug")) is None and caplog.messages == []
    fault = refusals.find_system_fault(OSError(errno.EMFILE, "Too many open files"))
    assert isinstance(fault, errors.MaestroError) and len(caplog.messages) == 1
