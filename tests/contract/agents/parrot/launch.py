"""The launch of the parrot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from maestro.tools.parrot.hooks import DIALECT

from maestro.domain.conversations import DriverKind
from maestro.tools import hook_settings, skills
from maestro.tools.base import Launch, LaunchRequest


def prepare_launch(start: LaunchRequest, environment: Mapping[str, str]) -> Launch:
    """Return the launch over the protocol, or the launch in a terminal with a pipe as program inbox."""
    folder, is_in_terminal = Path(start.folder), start.driver is DriverKind.TERMINAL
    hooks = (
        hook_settings.hooks_in_terminal(DIALECT, start.hook_command)
        if is_in_terminal
        else hook_settings.hooks_beside_protocol(DIALECT, start.hook_command)
    )
    settings = {
        "hooks": hooks,
        "prompt": f"{start.system_prompt}\n\n{start.task_prompt}",
        "skills": str(skills.link_skills(start.skills, start.folder)) if start.skills else "",
        "level": start.levels.permissions[start.permission],
    }
    (folder / "parrot.json").write_text(json.dumps(settings), encoding="utf-8")
    model = start.levels.model_for(start.model)
    arguments = [
        start.levels.program,
        "--settings",
        str(folder / "parrot.json"),
        *(["--model", model] if model else []),
    ]
    arguments += ["--skills", settings["skills"]] if settings["skills"] else []
    if is_in_terminal:
        return Launch(
            arguments=[*arguments, *start.arguments],
            environment=dict(environment),
            inbox={"kind": "pipe", "path": str(folder / "in")},
        )
    return Launch(
        arguments=[*arguments, "--protocol", *start.arguments],
        environment=dict(environment),
        terminal=False,
        conversation="parrot",
        opening={
            "prompt": settings["prompt"],
            "directory": start.directory,
            "resumes": start.resumes,
            "allow": start.allow,
            "rest": start.rest,
        },
    )
