"""Beads behind the interface: each intent as a command, each answer checked for what it must hold."""

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
    """The issues of one checkout."""

    kind = Kind.BEADS

    def __init__(self, program: Program) -> None:
        self._program = program
        self.stamps_tell_comments = False

    async def version(self) -> str:
        printed = await self._program.run(commands.version())
        found = generations.generation(printed.out)
        if printed.code != 0 or found is None:
            raise Unreachable(f"bd does not say which version it is: {shapes.complaint(printed)}")
        if generations.is_too_old(found):
            raise Unreachable(f"bd {found} is too old: {'.'.join(map(str, generations.OLDEST))} or newer is needed.")
        self.stamps_tell_comments = found.counts_comments
        return str(found)

    async def issues(self, *, closed: bool = False) -> list[TrackerIssue]:
        found = {one.ref: one for one in shapes.issues(await self._whole(commands.issues()))}
        if closed:
            found |= {one.ref: one for one in shapes.issues(await self._whole(commands.closed_issues()))}
        return list(found.values())

    async def look(self, refs: Sequence[str]) -> list[Looked]:
        found: list[Looked] = []
        for at in range(0, len(refs), limits.tracker_look_max):
            found += await self._look(refs[at : at + limits.tracker_look_max])
        return found

    async def create(self, new: NewIssue) -> TrackerIssue:
        printed = await self._program.run(commands.create(new), actor=new.actor)
        made = shapes.changed(printed) if printed.code == 0 else None
        if made is None:
            raise Refused(shapes.complaint(printed))
        return made

    async def comment(self, ref: str, text: str, *, actor: str) -> None:
        printed = await self._program.run(commands.comment(ref, text, actor=actor), actor=actor)
        if printed.code != 0 or not printed.out.strip():
            raise Refused(shapes.complaint(printed))

    async def claim(self, ref: str, *, actor: str) -> TrackerIssue:
        """A claim that was lost ends with 0 and prints nothing (until 1.0): only the issue itself, with the actor
        as its assignee, is a claim. One's own, made before, is one too."""
        printed = await self._program.run(commands.claim(ref), actor=actor)
        won = shapes.changed(printed, ref) if printed.code == 0 else None
        if won is None or won.stand != Stand(State.STARTED, actor):
            found = await self.look([ref])
            won = found[0].issue if found else None
        if won is None:
            raise Refused(shapes.complaint(printed))
        if won.stand != Stand(State.STARTED, actor):
            if won.stand.state is State.OPEN:
                raise Refused(shapes.complaint(printed))
            raise Taken(won)
        return won

    async def release(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change(ref, commands.release(ref), actor, State.OPEN)

    async def block(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change(ref, commands.block(ref), actor, State.BLOCKED)

    async def close(self, ref: str, *, reason: str, actor: str) -> TrackerIssue:
        return await self._change(ref, commands.close(ref, reason=reason), actor, State.CLOSED)

    async def reopen(self, ref: str, *, actor: str) -> TrackerIssue:
        return await self._change(ref, commands.reopen(ref), actor, State.OPEN)

    async def rename(self, ref: str, title: str, *, actor: str) -> TrackerIssue:
        return await self._change(ref, commands.rename(ref, title), actor, None)

    async def _change(self, ref: str, words: Sequence[str], actor: str, state: State | None) -> TrackerIssue:
        """Done if the issue says so, whatever the command's code was: to close what is closed is an error in some
        generations and none in others."""
        printed = await self._program.run(words, actor=actor)
        now = shapes.changed(printed, ref) if printed.code == 0 else None
        if now is None or (state is not None and now.stand.state is not state):
            found = await self.look([ref])
            now = found[0].issue if found else None
        if now is None or (state is not None and now.stand.state is not state) or (state is None and printed.code):
            raise Refused(shapes.complaint(printed))
        return now

    async def _whole(self, words: Sequence[str]) -> Printed:
        printed = await self._program.run(words)
        if printed.code != 0:
            raise Unreachable(shapes.complaint(printed))
        return printed

    async def _look(self, refs: Sequence[str]) -> list[Looked]:
        """That one of several is not there makes `show` fail in some generations, keeps the others from being shown
        in some, and is not said at all in others: what is told counts, and who is missing is missing."""
        printed = await self._program.run(commands.look(refs))
        some, short = shapes.looked(printed)
        if printed.code != 0 and not some:
            if len(refs) > 1:
                half = len(refs) // 2
                return [*await self._look(refs[:half]), *await self._look(refs[half:])]
            if not _is_missing(printed):
                raise Unreachable(shapes.complaint(printed))
        return [await self._with_comments(one) if one.issue.ref in short else one for one in some]

    async def _with_comments(self, one: Looked) -> Looked:
        said: list[Comment] = shapes.comments(await self._whole(commands.comments(one.issue.ref)))
        return msgspec.structs.replace(one, comments=said)


def _is_missing(printed: Printed) -> bool:
    said = shapes.complaint(printed).lower()
    return "not found" in said or "no issue" in said or "no such issue" in said
