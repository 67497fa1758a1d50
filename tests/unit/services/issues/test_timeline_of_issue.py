"""The timeline of an issue shows each event once, although both projects have the event in their logs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from maestro.operations import timeline as ops
from maestro.services import timelines

Parties = Any


async def test_each_event_of_an_issue_is_shown_once_to_both_parties(parties: Parties) -> None:
    issue = await parties.open_issue()
    await parties.claim_issue(parties.keeper, issue)
    await parties.reply_to_issue(parties.finder, issue, "Any news?")
    await parties.close_issue(parties.keeper, issue)
    request = ops.ShowTimeline(task=issue.ref)
    for caller in (parties.finder, parties.keeper):
        shown = await parties.world.store.read(lambda tx, caller=caller: timelines.show_timeline(tx, caller, request))
        counts = Counter(event.kind for event in shown.events if event.kind.startswith("issue."))
        assert counts == {"issue.opened": 1, "issue.claimed": 1, "issue.commented": 1, "issue.closed": 1}
