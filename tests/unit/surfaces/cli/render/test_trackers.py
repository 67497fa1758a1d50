"""The status of a tracker is rendered with its last synchronisation, its backlog and its problems."""

from __future__ import annotations

from typing import Any

from tests.unit.surfaces.cli.render.conftest import AT, WHEN, rendered, text_of

from maestro.domain.trackers import TrackerKind
from maestro.operations.trackers import TrackerStatus, UnsyncedIssue


def facts_of(**fields: Any) -> dict[str, str]:
    """Return the shown facts about the tracker of a project with Beads."""
    shown = text_of(TrackerStatus(project="vc", kind=TrackerKind.BEADS, **fields))
    pairs = (line.strip().partition("  ") for line in shown.splitlines()[1:])
    return {name: value.strip() for name, _, value in pairs}


def test_the_built_in_tracker_has_no_facts_but_may_have_a_hint() -> None:
    status = TrackerStatus(project="vc", kind=TrackerKind.BUILTIN, hint="The checkout has .beads.")
    assert text_of(status) == "vc  builtin\n  Maestro keeps the issues of this project\n"
    assert rendered(status).notes == ["The checkout has .beads."]
    assert rendered(TrackerStatus(project="vc", kind=TrackerKind.BUILTIN)).notes == []


def test_a_tracker_in_sync_shows_no_problem() -> None:
    facts = facts_of(path="/src/vc", issues=3, succeeded_at=AT, read_at=AT)
    assert facts["path"] == "/src/vc" and facts["issues"] == "3"
    assert facts["behind"] == "none" and facts["last in sync"] == facts["last read"] == WHEN
    assert not {"problem", "failed", "next attempt"} & facts.keys()


def test_a_tracker_that_was_never_read_shows_never() -> None:
    facts = facts_of()
    assert facts["last in sync"] == facts["last read"] == "never"


def test_a_tracker_that_is_behind_shows_the_counts_of_issues_and_events() -> None:
    assert facts_of(behind_issues=2)["behind"] == "2 issues, 0 events"
    assert facts_of(behind_events=5)["behind"] == "0 issues, 5 events"


def test_a_failing_tracker_shows_problem_failures_and_next_attempt() -> None:
    facts = facts_of(problem="bd\nis missing", failures=4, retry_at=AT)
    assert (facts["problem"], facts["failed"], facts["next attempt"]) == ("bd is missing", "4 in a row", WHEN)


def test_refused_issues_and_a_running_synchronisation_are_shown() -> None:
    refused = [
        UnsyncedIssue(issue="vc#4", ref="bd-1", problem="gone", retry_at=None),
        UnsyncedIssue(issue="vc#5", ref=None, problem="refused", retry_at=None),
    ]
    status = TrackerStatus(project="vc", kind=TrackerKind.BEADS, version="1.0.5", unsynced=refused, busy=True)
    assert text_of(status).startswith("vc  beads 1.0.5\n")
    assert text_of(status).endswith("\nrefused\n  vc#4  bd-1 gone\n  vc#5  refused\n")
    assert rendered(status).notes == ["a synchronisation is running"]
