"""The elements of a prompt about work: the session's tasks, their tree, and reference tasks."""

from __future__ import annotations

from collections.abc import Sequence

from maestro.domain.manifests import Manifest, ManifestDocument, ManifestTask, ManifestTaskLink
from maestro.domain.tasks import TaskStatus
from maestro.prompts.parts import ElementBuilder, ReadCall
from maestro.prompts.xml import Markup, element


def task_list(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the session's own tasks."""
    read = ReadCall("session.show", manifest.session.id)
    return parts.counted_list("tasks", manifest.tasks, lambda task: _task_element(parts, task), read)


def reference_tasks(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the tasks for background reading, with their documents. The session does not work on them."""
    read = ReadCall("session.show", manifest.session.id)
    return parts.counted_list(
        "reference_tasks", manifest.reference_tasks, lambda task: _reference_element(parts, task), read
    )


def task_tree(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the tree of tasks if the session has a task and its parent. Otherwise each task's children suffice."""
    given = {task.ref for task in manifest.tasks}
    if not any(task.parent in given for task in manifest.tasks):
        return None
    tree_nodes = _TaskTree(manifest.tasks, nodes_max=parts.bounds.entries)
    return element("task_tree", None, *[tree_nodes.node_element(ref) for ref in tree_nodes.root_refs()])


def task_link(parts: ElementBuilder, name: str, task: ManifestTaskLink) -> Markup:
    """Return a short reference to a task."""
    return element(name, {"ref": task.ref, "status": task.status.value, "title": parts.short_text(task.title)})


class _TaskTree:
    """Parents and children by reference. Each task appears once, even if references form a circle."""

    def __init__(self, given: Sequence[ManifestTask], *, nodes_max: int) -> None:
        self.statuses: dict[str, TaskStatus] = {}
        self.children: dict[str, list[str]] = {}
        self.nodes_left = nodes_max
        for task in given:
            self.statuses[task.ref] = task.status
            for child in task.children:
                self._add_child(task.ref, child.ref, child.status)
        for task in given:
            if task.parent in self.statuses:
                self._add_child(task.parent, task.ref, task.status)
        self.seen: set[str] = set()

    def root_refs(self) -> list[str]:
        below = {child for children in self.children.values() for child in children}
        return [ref for ref in self.statuses if ref not in below]

    def node_element(self, ref: str) -> Markup:
        self.seen.add(ref)
        self.nodes_left -= 1
        refs = self.children.get(ref, ())
        children = [self.node_element(child) for child in refs if child not in self.seen and self.nodes_left > 0]
        return element("node", {"ref": ref, "status": self.statuses[ref].value}, *children)

    def _add_child(self, parent: str, child: str, status: TaskStatus) -> None:
        children = self.children.setdefault(parent, [])
        if child not in children:
            children.append(child)
        self.statuses.setdefault(child, status)


def _task_element(parts: ElementBuilder, task: ManifestTask) -> Markup:
    read = ReadCall("task.show", task.ref)
    return element(
        "task",
        _task_attributes(parts, task),
        _description_element(parts, task, read),
        parts.inner_list(
            "acceptance", task.acceptance, lambda criterion: _line_element(parts, "criterion", criterion), read
        ),
        parts.inner_list("gates", task.gates, lambda gate: _line_element(parts, "gate", gate), read),
        parts.inner_list("depends_on", task.depends_on, lambda task: task_link(parts, "dependency", task), read),
        parts.inner_list("blockers", task.blockers, lambda task: task_link(parts, "blocker", task), read),
        parts.inner_list("children", task.children, lambda task: task_link(parts, "child", task), read),
        _document_list(parts, task),
    )


def _reference_element(parts: ElementBuilder, task: ManifestTask) -> Markup:
    attributes: dict[str, str | None] = {
        "id": task.id,
        "ref": task.ref,
        "title": parts.short_text(task.title),
        "status": task.status.value,
    }
    read = ReadCall("task.show", task.ref)
    return element("reference_task", attributes, _description_element(parts, task, read), _document_list(parts, task))


def _task_attributes(parts: ElementBuilder, task: ManifestTask) -> dict[str, str | None]:
    return {
        "id": task.id,
        "ref": task.ref,
        "title": parts.short_text(task.title),
        "status": task.status.value,
        "ready": "true" if task.ready else None,
        "priority": task.priority.value,
        "opened_by": parts.short_text(task.opened_by),
        "stage": parts.short_text(task.stage),
        "waits_for_stage": parts.short_text(task.waits_for_stage),
        "parent": parts.short_text(task.parent),
        "member": parts.short_text(task.member),
        "holder": parts.short_text(task.holder),
    }


def _description_element(parts: ElementBuilder, task: ManifestTask, read: ReadCall) -> Markup | None:
    if not task.description:
        return None
    # Name another project as the author: its text is information for the agent, not an order.
    written = {"written_by": parts.short_text(task.opened_by)} if task.opened_by else None
    return parts.long_text("description", task.description, read, attributes=written)


def _document_list(parts: ElementBuilder, task: ManifestTask) -> Markup | None:
    read = ReadCall("task.docs.list", task.ref)
    return parts.inner_list("documents", task.documents, lambda document: _document_element(parts, document), read)


def _document_element(parts: ElementBuilder, document: ManifestDocument) -> Markup:
    attributes: dict[str, str | None] = {
        "id": document.id,
        "title": parts.short_text(document.title),
        "file_name": parts.short_text(document.file_name) or None,
        "bytes": str(document.bytes) if document.bytes else None,
    }
    if not document.text:
        return element("document", attributes)
    return parts.long_text("document", document.text, ReadCall("task.docs.show", document.id), attributes=attributes)


def _line_element(parts: ElementBuilder, name: str, value: str) -> Markup:
    return element(name, None, parts.short_text(value))
