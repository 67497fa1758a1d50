"""The commands that the surface answers itself: help, the list of commands, completion, the board."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import msgspec

from maestro.core.errors import MaestroError, NotFound, NotPermitted
from maestro.domain.callers import Caller, Callers, Role, may_call
from maestro.operations import members, projects, task_shapes, tasks, teams
from maestro.operations.app import App
from maestro.surfaces.cli import help, own, place, shells
from maestro.surfaces.cli.board import board
from maestro.surfaces.cli.completion import Candidate, next_words
from maestro.surfaces.cli.frames import Invocation
from maestro.surfaces.cli.grammar import PROGRAM, Grammar, Node, Spec
from maestro.surfaces.cli.parse import Parsed, unknown_command
from maestro.surfaces.cli.render.style import line

offered_max = 100


@dataclass(frozen=True)
class Page:
    """A text that is the answer itself, and what to say instead in JSON."""

    text: str
    data: Any


class Offers:
    """The surface's own commands."""

    def __init__(self, app: App, grammar: Grammar) -> None:
        self.app = app
        self.grammar = grammar

    def help(self, node: Node, rest: list[str]) -> Page:
        """Help for wherever the words lead; `rest` is what leads nowhere."""
        if rest and (node.spec is None or node is self.grammar.root):
            raise unknown_command(self.grammar, node, rest)
        return Page(help.about(node), own.CommandList(commands=[info(spec) for spec in node.offered()]))

    def needs_no_caller(self, request: msgspec.Struct) -> bool:
        return isinstance(request, own.Help | own.Completion)

    def page(self, request: msgspec.Struct) -> Page:
        """What is the same for everyone."""
        if isinstance(request, own.Completion):
            script = shells.script(request.shell, self.grammar)
            return Page(script, script)
        assert isinstance(request, own.Help)
        return self.help(*self.grammar.find(request.command))

    async def answer(
        self, parsed: Parsed, request: msgspec.Struct, *, invocation: Invocation, caller: Caller
    ) -> tuple[Any, list[str]]:
        """What depends on who asks, and notes about it."""
        match request:
            case own.Commands(check=None):
                return self._commands(caller), []
            case own.Commands(check=str(words)):
                return self._checked(words, caller), []
            case own.Complete(words=list(words)):
                return await self._completed(words, invocation, caller), []
        return await board(self.app, parsed, invocation=invocation, caller=caller)

    def _commands(self, caller: Caller) -> own.CommandList:
        allowed = [spec for spec in self.grammar.root.offered() if _may(caller, spec)]
        return own.CommandList(commands=[info(spec) for spec in allowed])

    def _checked(self, words: str, caller: Caller) -> own.CommandInfo:
        node, rest = self.grammar.find(words.removeprefix(f"{PROGRAM} ").split())
        if rest or node.spec is None:
            unknown = unknown_command(self.grammar, node, rest or [""])
            raise NotFound(unknown.message, hint=unknown.hint, data=unknown.data)
        if not _may(caller, node.spec):
            raise NotPermitted(
                f"A {caller.role} may not call `{node.spec.words}`.",
                data={"role": caller.role, "callers": info(node.spec).callers},
            )
        return info(node.spec)

    async def _completed(self, words: list[str], invocation: Invocation, caller: Caller) -> Page:
        candidates, kind = next_words(self.grammar, words)
        if kind and caller.role is not Role.NOBODY:
            with contextlib.suppress(MaestroError):  # Tab has nowhere to say it
                candidates += await self._asked(kind, words[-1] if words else "", invocation, caller)
        text = "".join(f"{line(one.word)}\t{line(one.said)}\n" for one in candidates)
        return Page(text, [one.word for one in candidates])

    async def _asked(self, kind: str, beginning: str, invocation: Invocation, caller: Caller) -> list[Candidate]:
        """Names that only the server knows."""
        if kind == "project":
            request = projects.ListProjects(limit=offered_max)
            found = (await self.app.call(projects.LIST, request, caller=caller)).projects
            named = [Candidate(project.name, project.key) for project in found]
        elif kind == "member":
            of_project = members.ListMembers(project=await self._here(invocation, caller), limit=offered_max)
            personas = (await self.app.call(members.LIST, of_project, caller=caller)).members
            named = [Candidate(member.name, member.role) for member in personas]
        elif kind == "team":
            groups = teams.ListTeams(project=await self._here(invocation, caller), limit=offered_max)
            grouped = (await self.app.call(teams.LIST, groups, caller=caller)).teams
            named = [Candidate(team.name, ", ".join(team.members)) for team in grouped]
        else:
            within = task_shapes.ListTasks(project=await self._here(invocation, caller), limit=offered_max)
            listed = (await self.app.call(tasks.LIST, within, caller=caller)).tasks
            named = [Candidate(task.ref, task.title) for task in listed]
        return [one for one in named if beginning in one.word]

    async def _here(self, invocation: Invocation, caller: Caller) -> str:
        if caller.project_id or (named := invocation.environment.get(place.VARIABLE, "")):
            return "" if caller.project_id else named
        return (await place.locate(self.app, invocation.directory, caller)).project.id


def _may(caller: Caller, spec: Spec) -> bool:
    return may_call(caller, spec.operation.name if spec.operation else "", spec.callers)


def info(spec: Spec) -> own.CommandInfo:
    """A command, as others read it."""
    roles = (Callers.PERSON, Callers.COORDINATOR, Callers.WORKER, Callers.HOLDER, Callers.NOBODY)
    return own.CommandInfo(
        command=spec.words,
        usage=spec.usage,
        summary=spec.summary,
        aliases=list(spec.aliases),
        operation=spec.operation.name if spec.operation else None,
        callers=[str(role.name).lower() for role in roles if role in spec.callers],
    )
