"""What there is to do, in a prompt: the tasks with all around them, their tree, and those given for reference."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.manifests import Document, Manifest, Task, TaskLink
from maestro.domain.tasks import Status
from maestro.prompts.parts import Parts, Where
from maestro.prompts.xml import Markup, element


def tasks(parts: Parts, manifest: Manifest) -> Markup | None:
    """The session's own tasks."""
    read = Where("session.show", manifest.session.id)
    return parts.entries("tasks", manifest.tasks, lambda task: _task(parts, task), read)


def reference_tasks(parts: Parts, manifest: Manifest) -> Markup | None:
    """Tasks to learn from, with their documents: not to be worked on."""
    read = Where("session.show", manifest.session.id)
    return parts.entries("reference_tasks", manifest.reference_tasks, lambda task: _reference(parts, task), read)


def tree(parts: Parts, manifest: Manifest) -> Markup | None:
    """Which task is a part of which, where the session was given both; else each task's own children say it all."""
    given = {task.ref for task in manifest.tasks}
    if not any(task.parent in given for task in manifest.tasks):
        return None
    found = _Tree(manifest.tasks, most=parts.bounds.entries)
    return element("task_tree", None, *[found.node(ref) for ref in found.roots()])


def link(parts: Parts, name: str, task: TaskLink) -> Markup:
    """A task that another mentions."""
    return element(name, {"ref": task.ref, "status": task.status.value, "title": parts.line(task.title)})


class _Tree:
    """Parents and children by reference. Each task appears once, whatever the references say."""

    def __init__(self, given: Sequence[Task], *, most: int) -> None:
        self.statuses: dict[str, Status] = {}
        self.below: dict[str, list[str]] = {}
        self.room = most
        for task in given:
            self.statuses[task.ref] = task.status
            for child in task.children:
                self._put(task.ref, child.ref, child.status)
        for task in given:
            if task.parent in self.statuses:
                self._put(task.parent, task.ref, task.status)
        self.seen: set[str] = set()

    def roots(self) -> list[str]:
        placed = {child for children in self.below.values() for child in children}
        return [ref for ref in self.statuses if ref not in placed]

    def node(self, ref: str) -> Markup:
        self.seen.add(ref)
        self.room -= 1
        below = self.below.get(ref, ())
        children = [self.node(child) for child in below if child not in self.seen and self.room > 0]
        return element("node", {"ref": ref, "status": self.statuses[ref].value}, *children)

    def _put(self, parent: str, child: str, status: Status) -> None:
        children = self.below.setdefault(parent, [])
        if child not in children:
            children.append(child)
        self.statuses.setdefault(child, status)


def _task(parts: Parts, task: Task) -> Markup:
    read = Where("task.show", task.ref)
    return element(
        "task",
        _facts(parts, task),
        _description(parts, task, read),
        parts.items("acceptance", task.acceptance, lambda one: _line(parts, "criterion", one), read),
        parts.items("gates", task.gates, lambda one: _line(parts, "gate", one), read),
        parts.items("depends_on", task.depends_on, lambda one: link(parts, "dependency", one), read),
        parts.items("blockers", task.blockers, lambda one: link(parts, "blocker", one), read),
        parts.items("children", task.children, lambda one: link(parts, "child", one), read),
        _documents(parts, task),
    )


def _reference(parts: Parts, task: Task) -> Markup:
    attributes: dict[str, str | None] = {
        "id": task.id,
        "ref": task.ref,
        "title": parts.line(task.title),
        "status": task.status.value,
    }
    read = Where("task.show", task.ref)
    return element("reference_task", attributes, _description(parts, task, read), _documents(parts, task))


def _facts(parts: Parts, task: Task) -> dict[str, str | None]:
    return {
        "id": task.id,
        "ref": task.ref,
        "title": parts.line(task.title),
        "status": task.status.value,
        "ready": "true" if task.ready else None,
        "priority": task.priority.value,
        "opened_by": parts.line(task.opened_by),
        "stage": parts.line(task.stage),
        "waits_for_stage": parts.line(task.waits_for_stage),
        "parent": parts.line(task.parent),
        "member": parts.line(task.member),
        "holder": parts.line(task.holder),
    }


def _description(parts: Parts, task: Task, read: Where) -> Markup | None:
    if not task.description:
        return None
    # What another project wrote says so where it stands: it is theirs to say, and no order.
    written = {"written_by": parts.line(task.opened_by)} if task.opened_by else None
    return parts.prose("description", task.description, read, attributes=written)


def _documents(parts: Parts, task: Task) -> Markup | None:
    read = Where("task.docs.list", task.ref)
    return parts.items("documents", task.documents, lambda document: _document(parts, document), read)


def _document(parts: Parts, document: Document) -> Markup:
    attributes: dict[str, str | None] = {
        "id": document.id,
        "title": parts.line(document.title),
        "file_name": parts.line(document.file_name) or None,
        "bytes": str(document.bytes) if document.bytes else None,
    }
    if not document.text:
        return element("document", attributes)
    return parts.prose("document", document.text, Where("task.docs.show", document.id), attributes=attributes)


def _line(parts: Parts, name: str, value: str) -> Markup:
    return element(name, None, parts.line(value))
