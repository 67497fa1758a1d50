"""Beads behind the tracker interface. Each method runs a `bd` command and checks the printed issue."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain.trackers import IssueStanding, IssueState, TrackerKind
from maestro.trackers.base import (
    IssueTaken,
    IssueWithComments,
    NewIssue,
    TrackerComment,
    TrackerIssue,
    TrackerRefused,
    TrackerUnreachable,
)
from maestro.trackers.beads import commands, generations, shapes
from maestro.trackers.beads.program import BeadsProgram
from maestro.trackers.beads.shapes import BeadsOutput


class BeadsTracker:
    """The tracker Beads of one checkout."""

    kind = TrackerKind.BEADS

    def __init__(self, program: BeadsProgram) -> None:
        self._program = program
        self.stamps_cover_comments = False

    async def read_version(self) -> str:
        printed = await self._program.run_command(commands.version_command())
        generation = generations.parse_generation(printed.out)
        if printed.code != 0 or generation is None:
            raise TrackerUnreachable(f"bd does not say which version it has: {shapes.error_text(printed)}")
        if generations.is_too_old(generation):
            oldest = ".".join(map(str, generations.OLDEST))
            raise TrackerUnreachable(f"bd {generation} is too old: install bd {oldest} or newer.")
        self.stamps_cover_comments = generation.counts_comments
        return str(generation)

    async def list_issues(self, *, with_closed: bool = False) -> list[TrackerIssue]:
        found = {
            issue.ref: issue for issue in shapes.decode_issue_list(await self._run_or_fail(commands.list_command()))
        }
        if with_closed:
            printed = await self._run_or_fail(commands.list_closed_command())
            found |= {issue.ref: issue for issue in shapes.decode_issue_list(printed)}
        return list(found.values())

    async def read_issues(self, refs: Sequence[str]) -> list[IssueWithComments]:
        found: list[IssueWithComments] = []
        for start in range(0, len(refs), limits.tracker_issues_per_call_max):
            found += await self._show_issues(refs[start : start + limits.tracker_issues_per_call_max])
        return found

    async def create_issue(self, new: NewIssue) -> TrackerIssue:
        printed = await self._program.run_command(commands.create_command(new), actor=new.actor)
        created = shapes.decode_changed_issue(printed) if printed.code == 0 else None
        if created is None:
            raise TrackerRefused(shapes.error_text(printed))
        return created

    async def add_comment(self, ref: str, text: str, *, actor: str) -> None:
        printed = await self._program.run_command(commands.add_comment_command(ref, text, actor=actor), actor=actor)
        if printed.code != 0 or not printed.out.strip():
            raise TrackerRefused(shapes.error_text(printed))

    async def claim_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        """Claim the issue. An earlier claim of the same actor counts too.

        Until 1.0 a failed claim ends with code 0 and prints no issue. Therefore only an issue with the actor as its
        assignee proves the claim.
        """
        printed = await self._program.run_command(commands.claim_command(ref), actor=actor)
        issue = shapes.decode_changed_issue(printed, ref) if printed.code == 0 else None
        if issue is None or issue.standing != IssueStanding(IssueState.STARTED, actor):
            found = await self.read_issues([ref])
            issue = found[0].issue if found else None
        if issue is None:
            raise TrackerRefused(shapes.error_text(printed))
        if issue.standing != IssueStanding(IssueState.STARTED, actor):
            if issue.standing.state is IssueState.OPEN:
                raise TrackerRefused(shapes.error_text(printed))
            raise IssueTaken(issue)
        return issue

    async def release_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.release_command(ref), actor, IssueState.OPEN)

    async def block_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.block_command(ref), actor, IssueState.BLOCKED)

    async def close_issue(self, ref: str, *, reason: str, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.close_command(ref, reason=reason), actor, IssueState.CLOSED)

    async def reopen_issue(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.reopen_command(ref), actor, IssueState.OPEN)

    async def rename_issue(self, ref: str, title: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.rename_command(ref, title), actor, None)

    async def _change_issue(
        self, ref: str, command: Sequence[str], actor: str, state: IssueState | None
    ) -> TrackerIssue:
        """Run a command that changes an issue. The change counts if the issue then has the state.

        The exit code does not decide: closing a closed issue is an error in some generations only.
        """
        printed = await self._program.run_command(command, actor=actor)
        now = shapes.decode_changed_issue(printed, ref) if printed.code == 0 else None
        if now is None or (state is not None and now.standing.state is not state):
            found = await self.read_issues([ref])
            now = found[0].issue if found else None
        if now is None or (state is not None and now.standing.state is not state) or (state is None and printed.code):
            raise TrackerRefused(shapes.error_text(printed))
        return now

    async def _run_or_fail(self, command: Sequence[str]) -> BeadsOutput:
        printed = await self._program.run_command(command)
        if printed.code != 0:
            raise TrackerUnreachable(shapes.error_text(printed))
        return printed

    async def _show_issues(self, refs: Sequence[str]) -> list[IssueWithComments]:
        """Return the printed issues; issues that are not printed count as missing.

        With a missing issue among several, `show` fails in some generations, prints no issue at all in others, and
        leaves the missing issue out without a message in the rest. Therefore a failed list is split and read again.
        """
        printed = await self._program.run_command(commands.show_command(refs))
        issues, incomplete = shapes.decode_shown_issues(printed)
        if printed.code != 0 and not issues:
            if len(refs) > 1:
                half = len(refs) // 2
                return [*await self._show_issues(refs[:half]), *await self._show_issues(refs[half:])]
            if not _is_missing(printed):
                raise TrackerUnreachable(shapes.error_text(printed))
        return [await self._with_comments(issue) if issue.issue.ref in incomplete else issue for issue in issues]

    async def _with_comments(self, shown: IssueWithComments) -> IssueWithComments:
        comments: list[TrackerComment] = shapes.decode_comments(
            await self._run_or_fail(commands.comments_command(shown.issue.ref))
        )
        return msgspec.structs.replace(shown, comments=comments)


def _is_missing(printed: BeadsOutput) -> bool:
    text = shapes.error_text(printed).lower()
    return "not found" in text or "no issue" in text or "no such issue" in text
