"""Answer the built-in commands: help, the list of commands, completion, the board."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import msgspec

from maestro.core.errors import MaestroError, NotFound, NotPermitted
from maestro.domain.callers import Caller, Callers, Role, may_call
from maestro.operations import members, projects, task_shapes, tasks, teams
from maestro.operations.app import App
from maestro.surfaces.cli import help, local_commands, project_resolver, shells
from maestro.surfaces.cli.board import build_board
from maestro.surfaces.cli.completion import Candidate, complete_words
from maestro.surfaces.cli.grammar import PROGRAM, CommandNode, CommandSpec, Grammar
from maestro.surfaces.cli.invocation import Invocation
from maestro.surfaces.cli.parse import ParsedCommand, unknown_command_error
from maestro.surfaces.cli.render.style import safe_line

offered_max = 100


@dataclass(frozen=True)
class TextAnswer:
    """An answer that is already text, and the data that replaces the text in JSON."""

    text: str
    data: Any


class BuiltinCommands:
    """The built-in commands of the command line."""

    def __init__(self, app: App, grammar: Grammar) -> None:
        self.app = app
        self.grammar = grammar

    def help_page(self, node: CommandNode, rest: list[str]) -> TextAnswer:
        """Return help for a node. Refuse if `rest`, the words that matched no command, is not empty."""
        if rest and (node.spec is None or node is self.grammar.root):
            raise unknown_command_error(self.grammar, node, rest)
        return TextAnswer(
            help.help_for_node(node),
            local_commands.CommandList(commands=[command_info(spec) for spec in node.visible_specs()]),
        )

    def needs_no_caller(self, request: msgspec.Struct) -> bool:
        return isinstance(request, local_commands.Help | local_commands.Completion)

    def answer_for_anyone(self, request: msgspec.Struct) -> TextAnswer:
        """Return an answer that does not depend on the caller."""
        if isinstance(request, local_commands.Completion):
            script = shells.completion_script(request.shell, self.grammar)
            return TextAnswer(script, script)
        assert isinstance(request, local_commands.Help)
        return self.help_page(*self.grammar.find_node(request.command))

    async def answer_for_caller(
        self, parsed: ParsedCommand, request: msgspec.Struct, *, invocation: Invocation, caller: Caller
    ) -> tuple[Any, list[str]]:
        """Return the answer for a caller, and notes."""
        match request:
            case local_commands.Commands(check=None):
                return self._allowed_commands(caller), []
            case local_commands.Commands(check=str(words)):
                return self._check_command(words, caller), []
            case local_commands.Complete(words=list(words)):
                return await self._complete_words(words, invocation, caller), []
        return await build_board(self.app, parsed, invocation=invocation, caller=caller)

    def _allowed_commands(self, caller: Caller) -> local_commands.CommandList:
        allowed = [spec for spec in self.grammar.root.visible_specs() if _may_call(caller, spec)]
        return local_commands.CommandList(commands=[command_info(spec) for spec in allowed])

    def _check_command(self, command: str, caller: Caller) -> local_commands.CommandInfo:
        node, rest = self.grammar.find_node(command.removeprefix(f"{PROGRAM} ").split())
        if rest or node.spec is None:
            unknown = unknown_command_error(self.grammar, node, rest or [""])
            raise NotFound(unknown.message, hint=unknown.hint, data=unknown.data)
        if not _may_call(caller, node.spec):
            raise NotPermitted(
                f"The role {caller.role} may not call `{node.spec.words}`.",
                data={"role": caller.role, "callers": command_info(node.spec).callers},
            )
        return command_info(node.spec)

    async def _complete_words(self, words: list[str], invocation: Invocation, caller: Caller) -> TextAnswer:
        candidates, kind = complete_words(self.grammar, words)
        if kind and caller.role is not Role.NOBODY:
            with contextlib.suppress(MaestroError):  # completion by Tab cannot show an error
                candidates += await self._server_candidates(kind, words[-1] if words else "", invocation, caller)
        text = "".join(
            f"{safe_line(candidate.word)}\t{safe_line(candidate.description)}\n" for candidate in candidates
        )
        return TextAnswer(text, [candidate.word for candidate in candidates])

    async def _server_candidates(
        self, kind: str, fragment: str, invocation: Invocation, caller: Caller
    ) -> list[Candidate]:
        """Return candidates that only the server knows: projects, members, teams, tasks."""
        if kind == "project":
            request = projects.ListProjects(limit=offered_max)
            found = (await self.app.call(projects.LIST, request, caller=caller)).projects
            candidates = [Candidate(project.name, project.key) for project in found]
        elif kind == "member":
            of_project = members.ListMembers(
                project=await self._project_of_caller(invocation, caller), limit=offered_max
            )
            personas = (await self.app.call(members.LIST, of_project, caller=caller)).members
            candidates = [Candidate(member.name, member.role) for member in personas]
        elif kind == "team":
            groups = teams.ListTeams(project=await self._project_of_caller(invocation, caller), limit=offered_max)
            grouped = (await self.app.call(teams.LIST, groups, caller=caller)).teams
            candidates = [Candidate(team.name, ", ".join(team.members)) for team in grouped]
        else:
            within = task_shapes.ListTasks(
                project=await self._project_of_caller(invocation, caller), limit=offered_max
            )
            listed = (await self.app.call(tasks.LIST, within, caller=caller)).tasks
            candidates = [Candidate(task.ref, task.title) for task in listed]
        return [candidate for candidate in candidates if fragment in candidate.word]

    async def _project_of_caller(self, invocation: Invocation, caller: Caller) -> str:
        if caller.project_id or (named := invocation.environment.get(project_resolver.PROJECT_VARIABLE, "")):
            return "" if caller.project_id else named
        return (await project_resolver.locate_project(self.app, invocation.directory, caller)).project.id


def _may_call(caller: Caller, spec: CommandSpec) -> bool:
    return may_call(caller, spec.operation.name if spec.operation else "", spec.callers)


def command_info(spec: CommandSpec) -> local_commands.CommandInfo:
    """Return the public description of a command."""
    roles = (Callers.PERSON, Callers.COORDINATOR, Callers.WORKER, Callers.HOLDER, Callers.NOBODY)
    return local_commands.CommandInfo(
        command=spec.words,
        usage=spec.usage_line,
        summary=spec.summary,
        aliases=list(spec.aliases),
        operation=spec.operation.name if spec.operation else None,
        callers=[str(role.name).lower() for role in roles if role in spec.callers],
    )
