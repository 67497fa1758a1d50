"""All operations by name. A new capability adds its module to `REGISTRY`."""

from __future__ import annotations

from maestro.operations import (
    agents,
    asks,
    documents,
    files,
    hooks,
    issues,
    mail,
    members,
    primer,
    projects,
    runs,
    server,
    sessions,
    spawning,
    tasks,
    teams,
    terminals,
    timeline,
    tools,
    trackers,
    worktrees,
)
from maestro.operations.base import Operation

REGISTRY: dict[str, Operation] = {
    operation.name: operation
    for module in (
        tasks,
        documents,
        issues,
        projects,
        trackers,
        members,
        teams,
        sessions,
        primer,
        agents,
        spawning,
        tools,
        hooks,
        terminals,
        runs,
        worktrees,
        timeline,
        files,
        mail,
        asks,
        server,
    )
    for operation in module.ALL
}
