"""Beads behind the tracker interface. Each method runs a `bd` command and checks the printed issue."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.core import limits
from maestro.domain.trackers import Kind, Stand, State
from maestro.trackers.base import Comment, Looked, NewIssue, Refused, Taken, TrackerIssue, Unreachable
from maestro.trackers.beads import commands, generations, shapes
from maestro.trackers.beads.program import Program
from maestro.trackers.beads.shapes import Printed


class Beads:
    """The tracker Beads of one checkout."""

    kind = Kind.BEADS

    def __init__(self, program: Program) -> None:
        self._program = program
        self.stamps_tell_comments = False

    async def version(self) -> str:
        printed = await self._program.run(commands.version())
        generation = generations.generation(printed.out)
        if printed.code != 0 or generation is None:
            raise Unreachable(f"bd does not say which version it has: {shapes.complaint(printed)}")
        if generations.is_too_old(generation):
            oldest = ".".join(map(str, generations.OLDEST))
            raise Unreachable(f"bd {generation} is too old: install bd {oldest} or newer.")
        self.stamps_tell_comments = generation.counts_comments
        return str(generation)

    async def issues(self, *, closed: bool = False) -> list[TrackerIssue]:
        found = {issue.ref: issue for issue in shapes.issues(await self._run_or_fail(commands.issues()))}
        if closed:
            printed = await self._run_or_fail(commands.closed_issues())
            found |= {issue.ref: issue for issue in shapes.issues(printed)}
        return list(found.values())

    async def look(self, refs: Sequence[str]) -> list[Looked]:
        found: list[Looked] = []
        for start in range(0, len(refs), limits.tracker_look_max):
            found += await self._show_issues(refs[start : start + limits.tracker_look_max])
        return found

    async def create(self, new: NewIssue) -> TrackerIssue:
        printed = await self._program.run(commands.create(new), actor=new.actor)
        created = shapes.changed(printed) if printed.code == 0 else None
        if created is None:
            raise Refused(shapes.complaint(printed))
        return created

    async def comment(self, ref: str, text: str, *, actor: str) -> None:
        printed = await self._program.run(commands.comment(ref, text, actor=actor), actor=actor)
        if printed.code != 0 or not printed.out.strip():
            raise Refused(shapes.complaint(printed))

    async def claim(self, ref: str, *, actor: str) -> TrackerIssue:
        """Claim the issue. An earlier claim of the same actor counts too.

        Until 1.0 a failed claim ends with code 0 and prints no issue. Therefore only an issue with the actor as its
        assignee proves the claim.
        """
        printed = await self._program.run(commands.claim(ref), actor=actor)
        issue = shapes.changed(printed, ref) if printed.code == 0 else None
        if issue is None or issue.stand != Stand(State.STARTED, actor):
            found = await self.look([ref])
            issue = found[0].issue if found else None
        if issue is None:
            raise Refused(shapes.complaint(printed))
        if issue.stand != Stand(State.STARTED, actor):
            if issue.stand.state is State.OPEN:
                raise Refused(shapes.complaint(printed))
            raise Taken(issue)
        return issue

    async def release(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.release(ref), actor, State.OPEN)

    async def block(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.block(ref), actor, State.BLOCKED)

    async def close(self, ref: str, *, reason: str, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.close(ref, reason=reason), actor, State.CLOSED)

    async def reopen(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.reopen(ref), actor, State.OPEN)

    async def rename(self, ref: str, title: str, *, actor: str) -> TrackerIssue:
        return await self._change_issue(ref, commands.rename(ref, title), actor, None)

    async def _change_issue(self, ref: str, command: Sequence[str], actor: str, state: State | None) -> TrackerIssue:
        """Run a command that changes an issue. The change counts if the issue then has the state.

        The exit code does not decide: closing a closed issue is an error in some generations only.
        """
        printed = await self._program.run(command, actor=actor)
        now = shapes.changed(printed, ref) if printed.code == 0 else None
        if now is None or (state is not None and now.stand.state is not state):
            found = await self.look([ref])
            now = found[0].issue if found else None
        if now is None or (state is not None and now.stand.state is not state) or (state is None and printed.code):
            raise Refused(shapes.complaint(printed))
        return now

    async def _run_or_fail(self, command: Sequence[str]) -> Printed:
        printed = await self._program.run(command)
        if printed.code != 0:
            raise Unreachable(shapes.complaint(printed))
        return printed

    async def _show_issues(self, refs: Sequence[str]) -> list[Looked]:
        """Return the printed issues; issues that are not printed count as missing.

        With a missing issue among several, `show` fails in some generations, prints no issue at all in others, and
        leaves the missing issue out without a message in the rest. Therefore a failed list is split and read again.
        """
        printed = await self._program.run(commands.look(refs))
        issues, incomplete = shapes.looked(printed)
        if printed.code != 0 and not issues:
            if len(refs) > 1:
                half = len(refs) // 2
                return [*await self._show_issues(refs[:half]), *await self._show_issues(refs[half:])]
            if not _is_missing(printed):
                raise Unreachable(shapes.complaint(printed))
        return [await self._with_comments(issue) if issue.issue.ref in incomplete else issue for issue in issues]

    async def _with_comments(self, looked: Looked) -> Looked:
        comments: list[Comment] = shapes.comments(await self._run_or_fail(commands.comments(looked.issue.ref)))
        return msgspec.structs.replace(looked, comments=comments)


def _is_missing(printed: Printed) -> bool:
    text = shapes.complaint(printed).lower()
    return "not found" in text or "no issue" in text or "no such issue" in text
