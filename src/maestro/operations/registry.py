"""Every operation there is, by name. A new capability adds its module here."""

from __future__ import annotations

from maestro.operations import documents, projects, server, sessions, tasks
from maestro.operations.base import Operation

REGISTRY: dict[str, Operation] = {
    operation.name: operation for module in (tasks, documents, projects, sessions, server) for operation in module.ALL
}
