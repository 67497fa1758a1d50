"""Compose the texts that go to a tracker. Long texts are cut and name the command that shows the rest. Pure."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.messages import Message
from maestro.domain.tasks import Task, TaskStatus
from maestro.domain.trackers import mark_comment


def issue_description(task: Task, first: Message | None, *, opener: str, project: str) -> str:
    """Return the description of a new issue."""
    text = _shorten(task.description, f"maestro issue show {task.ref}")
    lines = [text.rstrip(), "", f"Opened by {opener} of {project}; {task.ref} in Maestro."]
    if first is not None:
        lines += _attachment_lines(first)
    return "\n".join(lines).strip()


def comment_text(message: Message) -> str:
    """Return a message as a comment, with its mark."""
    text = _shorten(message.body, f"maestro mail show {message.id}", is_cut=message.truncated)
    return mark_comment("\n".join([text.rstrip(), *_attachment_lines(message)]), message.id)


def close_reason(task: Task) -> str:
    """Return the reason for closing an issue. The message of the close becomes a comment."""
    result = {TaskStatus.CANCELLED: "Will not be done", TaskStatus.FAILED: "Failed"}.get(task.status, "Done")
    return f"{result} ({task.ref} in Maestro)"


def _shorten(text: str, command: str, *, is_cut: bool = False) -> str:
    kept = text[: limits.tracker_text_chars_max]
    return f"{kept}\n\n… cut short; the whole text: {command}" if is_cut or len(kept) < len(text) else kept


def _attachment_lines(message: Message) -> list[str]:
    files = message.attachments
    names = [f"{file.file_name} ({file.bytes} bytes, `maestro mail attachment {file.id}`)" for file in files]
    return ["", f"Files: {', '.join(names)}"] if names else []
