"""Values for tests, with only what a test cares about spelled out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from maestro import ids
from maestro.domain.tasks import Priority, Status, Task

_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def make_task(**fields: Any) -> Task:
    """A task of project vc that nobody has touched yet."""
    number = fields.get("number", 1)
    values: dict[str, Any] = {
        "id": ids.new("tsk", _AT),
        "project_id": "prj_00000000000000000000000000",
        "ref": f"vc#{number}",
        "number": number,
        "title": "A task",
        "description": "",
        "status": Status.TODO,
        "priority": Priority.NORMAL,
        "ready": True,
        "stage": None,
        "parent_id": None,
        "found_in": None,
        "member": None,
        "accept": [],
        "gates": [],
        "archived": False,
        "reason": "",
        "holder": None,
        "fence": 0,
        "lease_seconds": None,
        "lease_until": None,
        "open_blockers": 0,
        "stage_held": False,
        "created_by": "dana",
        "created_at": _AT,
        "updated_at": _AT,
        "started_at": None,
        "finished_at": None,
    }
    return Task(**(values | fields))
