"""The repository of issues: the data of an issue besides its task, and lists of a project's issues."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.issues import Issue
from maestro.domain.tasks import Task
from maestro.store.decoding import Decoder
from maestro.store.repositories.tasks import TASK
from maestro.store.rows import Rows

_ISSUE = Decoder(Issue)


class IssueRepository:
    """Issues by task, thread and project."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def insert(self, issue: Issue) -> None:
        self._rows.execute("issue_insert", task_id=issue.task_id, thread_id=issue.thread_id, opener=issue.opener)

    def of_task(self, task_id: str) -> Issue | None:
        return self._rows.fetch_first("issue_of_task", _ISSUE, task_id=task_id)

    def of_thread(self, thread_id: str) -> Issue | None:
        """Return the issue that a thread is about."""
        return self._rows.fetch_first("issue_of_thread", _ISSUE, thread_id=thread_id)

    def list_received(self, project_id: str, *, after: int, limit: int, closed: bool | None) -> list[Task]:
        """Return the issues that other projects opened in a project, by number."""
        values = {"project_id": project_id, "after": after, "limit": limit, "closed": closed}
        return self._fetch_tasks("issues_of_project", **values)

    def list_opened(self, project_id: str, *, after: str, limit: int, closed: bool | None) -> list[Task]:
        """Return the issues that a project opened in other projects, by id."""
        values = {"project_id": project_id, "after": after, "limit": limit, "closed": closed}
        return self._fetch_tasks("issues_from_project", **values)

    def has_opened(self, from_project_id: str, project_id: str) -> bool:
        """Return whether a project has ever opened an issue in another project."""
        return self._rows.has_row("issue_exists_between", from_project_id=from_project_id, project_id=project_id)

    def close_thread(self, thread_id: str, *, mailbox: str) -> None:
        """Stop offering the messages of a thread from a mailbox."""
        self._rows.execute("thread_close", thread_id=thread_id, mailbox=mailbox)

    def _fetch_tasks(self, name: str, /, **values: object) -> list[Task]:
        return self._rows.fetch_page(name, TASK, description_chars=limits.description_chars_in_lists, **values)
