"""The settings give the bounds of the quotas, and a quota is checked before the operation runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maestro.core import errors
from maestro.server.base import open_base
from maestro.server.parts.quotas import build_quotas, within_quota


async def test_the_settings_give_the_bounds_of_the_quotas(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("asks_per_session = 3\ntasks_per_minute = 5\n")
    base = open_base(tmp_path)
    bounds = build_quotas(base).quotas.bounds
    assert (bounds.asks_per_session, bounds.tasks_per_minute) == (3, 5)
    await base.store.close()


def test_an_operation_above_its_quota_does_not_run() -> None:
    calls: list[str] = []

    def refuse(tx: Any, caller: Any, request: Any) -> None:
        if request == "too much":
            raise errors.LimitReached("Too many.")

    carry_out = within_quota(refuse, lambda tx, caller, request: calls.append(request))
    tx: Any = None
    carry_out(tx, None, "enough")
    with pytest.raises(errors.LimitReached):
        carry_out(tx, None, "too much")
    assert calls == ["enough"]
