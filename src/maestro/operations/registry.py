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
    notifications,
    primer,
    projects,
    runs,
    server,
    session_settings,
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
        session_settings,
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
        notifications,
        server,
    )
    for operation in module.ALL
}
