"""Quotas: how much sessions, families and projects may create."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maestro.domain.callers import Caller
from maestro.domain.events import EventKind
from maestro.server.base import ServerBase
from maestro.server.part import Part, Reaction
from maestro.services.quotas.families import Families
from maestro.services.quotas.quotas import QuotaBounds, Quotas
from maestro.store.base import Tx


class QuotaPart(Part, frozen=True, kw_only=True):
    """The families of sessions, and the quotas that count by family and project."""

    families: Families
    quotas: Quotas


def build_quotas(base: ServerBase) -> QuotaPart:
    families = Families()
    bounds = QuotaBounds(**{name: getattr(base.settings, name) for name in QuotaBounds.__struct_fields__})
    return QuotaPart(
        families=families,
        quotas=Quotas(families, bounds),
        reactions=(Reaction((EventKind.SESSION_ADOPTED,), lambda session_id: families.forget_families()),),
    )


def within_quota(check_quota: Callable[[Tx, Caller, Any], None], carry_out: Callable[..., Any]) -> Callable[..., Any]:
    """Return `carry_out` with a check of the quota before it."""

    def carry_out_within_quota(tx: Tx, caller: Caller, request: Any) -> Any:
        check_quota(tx, caller, request)
        return carry_out(tx, caller, request)

    return carry_out_within_quota
