"""The texts that go to a tracker: bounded, and saying where the rest is. Pure."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.messages import Message
from maestro.domain.tasks import Status, Task
from maestro.domain.trackers import marked


def description(task: Task, first: Message | None, *, opener: str, project: str) -> str:
    """What an issue says of itself."""
    text = _cut(task.description, f"maestro issue show {task.ref}")
    lines = [text.rstrip(), "", f"Opened by {opener} of {project}; {task.ref} in Maestro."]
    if first is not None:
        lines += _files(first)
    return "\n".join(lines).strip()


def comment(message: Message) -> str:
    """A message as a comment, with its mark."""
    text = _cut(message.body, f"maestro mail show {message.id}", is_cut=message.truncated)
    return marked("\n".join([text.rstrip(), *_files(message)]), message.id)


def reason(task: Task) -> str:
    """Why an issue is closed; what was said with it is a comment of its own."""
    how = {Status.CANCELLED: "Will not be done", Status.FAILED: "Failed"}.get(task.status, "Done")
    return f"{how} ({task.ref} in Maestro)"


def _cut(text: str, command: str, *, is_cut: bool = False) -> str:
    kept = text[: limits.tracker_text_chars_max]
    return f"{kept}\n\n… cut short; the whole of it: {command}" if is_cut or len(kept) < len(text) else kept


def _files(message: Message) -> list[str]:
    found = message.attachments
    names = [f"{one.file_name} ({one.bytes} bytes, `maestro mail attachment {one.id}`)" for one in found]
    return ["", f"Files: {', '.join(names)}"] if names else []
