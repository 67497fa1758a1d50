"""Field types that requests share: limits, and how the command line reads each field.

`extra` is for the command line: a `text` may also come from a file or standard input, `repeat` marks a list that is
not split at commas, `duration` reads 30s or 5m, `file` is the content of a file, `path` is relative to the caller,
`flag` renames the flag, `complete` names the offers on Tab, `choices` is an enum: the text is a value of it or ''.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from maestro.core import limits
from maestro.domain.conversations import AskPolicy
from maestro.domain.identity import RESERVED_NAMES
from maestro.domain.members import Permission

# In Python, `$` alone accepts a final newline. `\\Z` is not part of JSON Schema.
_END = r"$(?!\n)"
LINE = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*" + _END
LINE_OR_EMPTY = r"^[^\x00-\x1f\x7f-\x9f]*" + _END
_TEXT = r"^[^\x00]*$"
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*" + _END
NAME_OR_EMPTY = r"^([A-Za-z0-9][A-Za-z0-9._-]*)?" + _END
PATH = r"^/[^\x00]*$"
TEXT = _TEXT
FILE_NAME = r"^[^\x00-\x1f/]*" + _END

Project = Annotated[
    str,
    Meta(
        max_length=500,
        pattern=_TEXT,
        description="The project: its name, key or id.",
        extra={"complete": "project"},
    ),
]
TaskRef = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=LINE,
        description="A task: vc#12, #12 in its project, or its id.",
        extra={"complete": "task", "label": "ID"},
    ),
]
TaskRefs = Annotated[
    list[TaskRef],
    Meta(
        max_length=limits.reference_ids_max,
        description="Tasks, separated by commas.",
        extra={"complete": "task", "label": "IDS"},
    ),
]
Title = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.title_chars_max,
        pattern=LINE,
        description="A title on one line.",
        extra={"label": "TITLE"},
    ),
]
Description = Annotated[
    str,
    Meta(
        max_length=limits.description_chars_max,
        pattern=_TEXT,
        description="The whole text, in Markdown.",
        extra={"text": True, "label": "TEXT"},
    ),
]
Reason = Annotated[
    str,
    Meta(
        max_length=limits.reason_chars_max,
        pattern=_TEXT,
        description="The reason.",
        extra={"text": True, "label": "TEXT"},
    ),
]
ReportText = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.report_chars_max,
        pattern=_TEXT,
        description="The text of the report.",
        extra={"text": True, "label": "TEXT"},
    ),
]
Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.name_chars_max,
        pattern=NAME,
        description=f"Letters, digits, dot, dash; not a reserved word ({', '.join(sorted(RESERVED_NAMES))}).",
        extra={"label": "NAME"},
    ),
]
Stage = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=limits.name_chars_max,
        pattern=NAME,
        description="A stage of the project; its tasks wait for the stage before.",
        extra={"label": "STAGE"},
    ),
]
CommandLine = Annotated[str, Meta(min_length=1, max_length=limits.command_chars_max, pattern=_TEXT)]
Gates = Annotated[
    list[CommandLine],
    Meta(
        max_length=limits.task_list_items_max,
        description="A command that must pass before the task counts as completed. May be repeated.",
        extra={"repeat": True, "flag": "gate", "label": "COMMAND"},
    ),
]
Acceptance = Annotated[
    list[CommandLine],
    Meta(
        max_length=limits.task_list_items_max,
        description="A condition that the finished task must meet. May be repeated.",
        extra={"repeat": True, "label": "TEXT"},
    ),
]
Fence = Annotated[
    int,
    Meta(
        ge=0,
        le=2**53,
        description="The claim's number; an old number is refused.",
        extra={"label": "N"},
    ),
]
Lease = Annotated[
    int,
    Meta(
        ge=limits.lease_seconds_min * 1000,
        le=limits.lease_seconds_max * 1000,
        description="How long the claim lasts without a sign of life, e.g. 10m (milliseconds without a unit).",
        extra={"duration": True, "label": "TIME"},
    ),
]
Timeout = Annotated[
    int,
    Meta(
        ge=0,
        le=limits.wait_seconds_max * 1000,
        description="How long to wait at most, e.g. 30s (milliseconds without a unit).",
        extra={"duration": True, "label": "TIME"},
    ),
]
Limit = Annotated[
    int,
    Meta(ge=1, le=limits.page_items_max, description="How many at most.", extra={"label": "N"}),
]
PageCursor = Annotated[
    str,
    Meta(
        max_length=200,
        pattern=_TEXT,
        description="The cursor of the page before: where this page begins.",
        extra={"label": "CURSOR"},
    ),
]
Path = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=4096,
        pattern=PATH,
        description="An absolute path on the server's machine.",
        extra={"path": True, "label": "FILE"},
    ),
]
Allowed = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=limits.command_chars_max, pattern=_TEXT)]],
    Meta(
        max_length=limits.allow_patterns_max,
        description="An action that is allowed without asking, e.g. 'shell:git *', 'edit:*'.",
        extra={"repeat": True, "label": "PATTERN"},
    ),
]
Grant = Annotated[
    Permission,
    Meta(
        description="The highest permission level the session may give to sessions it starts; at most your grant.",
        extra={"label": "LEVEL"},
    ),
]
Asks = Annotated[AskPolicy, Meta(description="How to treat permission requests without a matching pattern.")]
