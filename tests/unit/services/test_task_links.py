"""A task link holds the id, the reference, the title and the status of a task."""

from __future__ import annotations

from maestro.domain.tasks import TaskStatus
from maestro.services.task_links import task_links
from maestro.testing.factories import make_task


def test_a_task_link_has_the_id_the_reference_the_title_and_the_status_of_the_task() -> None:
    first, second = make_task(number=1, title="Parse"), make_task(number=2, status=TaskStatus.COMPLETED)
    links = task_links([first, second])
    assert [(link.id, link.ref) for link in links] == [(first.id, "vc#1"), (second.id, "vc#2")]
    assert [(link.title, link.status) for link in links] == [("Parse", "todo"), ("A task", "completed")]
    assert task_links([]) == []
