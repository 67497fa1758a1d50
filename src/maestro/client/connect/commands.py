"""`maestro connect` and `maestro disconnect`: report the changes of the settings, make them, and test the hooks."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from maestro.client.connect import changes, entries, files, merging, place, programs, self_test, trust
from maestro.client.connect.changes import Change
from maestro.client.connect.entries import Scope, Target
from maestro.client.connect.merging import LeftAlone
from maestro.client.connect.place import say
from maestro.client.connect.records import Records

_DONE, _FAILED = 0, 1


def connect(arguments: list[str]) -> int:
    parser = _make_parser("connect", "Add Maestro's hooks and MCP server to the settings of a tool.")
    parser.add_argument(
        "--scope", choices=tuple(Scope), default=Scope.USER, help="your own settings, or the project's"
    )
    parser.add_argument("--trust", action="store_true", help="codex: mark the hooks as reviewed, in your name")
    chosen = parser.parse_args(arguments)
    place.require_person("connects agents")
    connecting = Connecting(chosen.tool, Scope(chosen.scope))
    if chosen.dry_run:
        return connecting.show()
    return connecting.run(trusts=chosen.trust)


def disconnect(arguments: list[str]) -> int:
    parser = _make_parser("disconnect", "Remove Maestro from the settings of a tool.")
    parser.add_argument("--scope", choices=tuple(Scope), help="only your own settings, or only the project's")
    chosen = parser.parse_args(arguments)
    place.require_person("disconnects agents")
    scopes = [Scope(chosen.scope)] if chosen.scope else list(Scope)
    return max(_disconnect_scope(chosen.tool, scope, dry=chosen.dry_run) for scope in scopes)


def _make_parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"maestro {name}", description=description)
    parser.add_argument("tool", metavar="TOOL", choices=entries.TOOLS, help=", ".join(entries.TOOLS))
    parser.add_argument("--dry-run", action="store_true", help="only show the changes")
    return parser


@dataclass
class Connecting:
    """The connection of one tool to Maestro, in one scope of settings."""

    tool: str
    scope: Scope

    def __post_init__(self) -> None:
        self.records = Records(place.home())
        self.directory = place.project()
        caller = entries.this_program()
        self.targets = entries.targets(self.tool, self.scope, caller, directory=self.directory)

    def show(self) -> int:
        """Print the changes that `run` would make."""
        planned = self._planned_changes()
        if planned is None:
            return _FAILED
        for target, change in planned:
            say(change.diff(target.path).rstrip("\n") if not change.is_none else f"{target.path}: nothing to change")
        self._print_notes(planned)
        return _DONE

    def run(self, *, trusts: bool) -> int:
        """Change the settings, and test every hook. If one file cannot be changed, change no file."""
        if self._planned_changes() is None:
            return _FAILED
        try:
            done = [(target, self._change_file(target)) for target in self.targets]
        except LeftAlone as reason:
            say(f"some files are not changed: {reason}; to undo the other changes: maestro disconnect {self.tool}")
            return _FAILED
        for target, change in done:
            say(f"{target.path}: {'already up to date' if change.is_none else 'changed'}")
        self._print_notes(done)
        code = self._test_hooks()
        if self.tool == "codex":
            code = max(code, self._report_review(trusts=trusts))
        if code == _DONE:
            say(f"{self.tool} is connected: restart {self.tool}, and it joins the project of its directory.")
        return code

    def _change_file(self, target: Target) -> Change:
        def apply(change: Change) -> None:
            if not change.is_none or self.records.get(target.path) is None:
                changes.connect(target, change, self.records, tool=self.tool, scope=self.scope.value)

        try:
            return changes.persistently(lambda: changes.connecting(target, self.records), apply)
        except LeftAlone as reason:
            raise LeftAlone(f"{target.path} is not changed: {reason}") from None

    def _planned_changes(self) -> list[tuple[Target, Change]] | None:
        """Return the planned changes; print the reason and return None if a file cannot be changed."""
        planned, is_good = [], True
        for target in self.targets:
            try:
                change = changes.connecting(target, self.records)
                if not change.is_none and change.found.content is not None and not change.found.mode & 0o222:
                    raise LeftAlone("the file is read-only")
                planned.append((target, change))
            except LeftAlone as reason:
                say(f"{target.path} is not changed: {reason}")
                is_good = False
        if not is_good:
            say("nothing was changed")
        return planned if is_good else None

    def _print_notes(self, planned: list[tuple[Target, Change]]) -> None:
        for _, change in planned:
            for note in change.notes:
                say(note)

    def _test_hooks(self) -> int:
        if not place.start_server():
            say("the hooks were not tested: no server runs; start a server: maestro up")
            return _FAILED
        commands = (command for target in self.targets for command in self._hook_commands(target))
        tests = [self_test.fire(command, self.directory) for command in commands]
        for test in tests:
            if test.problem:
                say(f"  {test.event}: {test.problem}")
        good = [test for test in tests if not test.problem]
        if good:
            median = sorted(test.milliseconds for test in good)[len(good) // 2]
            say(f"{len(good)} of {len(tests)} hooks were fired and answered, in {median:.0f} ms each")
        return _DONE if len(good) == len(tests) else _FAILED

    def _hook_commands(self, target: Target) -> list[str]:
        if not target.hooks:
            return []
        return merging.commands(files.read(target.path).text)

    def _report_review(self, *, trusts: bool) -> int:
        """Report or mark the hooks that the person has not reviewed: codex skips these hooks without a message."""
        program = programs.find("codex")
        hooks = trust.ask(program.path, self.directory) if program is not None else None
        unreviewed = [hook for hook in hooks or () if not hook.is_trusted]
        if hooks is None:
            say("codex did not answer about these hooks; review the hooks when codex asks you at its next start")
            return _DONE
        if hooks and not unreviewed:
            say("codex lists these hooks as reviewed")
            return _DONE
        if not trusts:
            say(f"codex does not run {len(unreviewed)} of these hooks before you have reviewed them: codex asks you")
            say("at its next start. Until then `codex exec` skips the hooks without a message.")
            say("`maestro connect codex --trust` marks the hooks as reviewed, in your name.")
            return _DONE
        return self._mark_reviewed({hook.key: hook.digest for hook in unreviewed})

    def _mark_reviewed(self, hashes: dict[str, str]) -> int:
        target = next(target for target in self.targets if target.mcp_keys)

        def apply(change: Change) -> None:
            changes.connect(target, change, self.records, tool=self.tool, scope=self.scope.value)

        try:
            changes.persistently(lambda: changes.trusting(target, self.records, hashes), apply)
        except LeftAlone as reason:
            say(f"{target.path} is not changed: {reason}")
            return _FAILED
        say(f"{target.path}: {len(hashes)} hooks are marked as reviewed, in your name")
        return _DONE


def _disconnect_scope(tool: str, scope: Scope, *, dry: bool) -> int:
    records = Records(place.home())
    targets = entries.targets(tool, scope, entries.this_program(), directory=place.project())
    # The records also name files of other directories, and of other folders in the environment.
    paths = {target.path for target in targets}
    other_records = [
        record for record in records.of(tool) if record.scope == scope.value and Path(record.path) not in paths
    ]
    elsewhere = [_target_at(targets, Path(record.path)) for record in other_records] if scope is Scope.USER else []
    code = _DONE
    for target in [*targets, *elsewhere]:
        try:
            code = max(code, _remove_entries(target, records, dry=dry))
        except LeftAlone as reason:
            say(f"{target.path} is not changed: {reason}")
            code = _FAILED
    return code


def _target_at(targets: list[Target], path: Path) -> Target:
    alike = next((target for target in targets if target.path.name == path.name), targets[0])
    return Target(path, alike.format, hooks=alike.hooks, mcp=alike.mcp, mcp_keys=alike.mcp_keys)


def _remove_entries(target: Target, records: Records, *, dry: bool) -> int:
    if dry:
        change = changes.disconnecting(target, records)
        if not change.is_none:
            say(change.diff(target.path).rstrip("\n"))
        return _DONE
    is_known = records.get(target.path) is not None
    change = changes.persistently(
        lambda: changes.disconnecting(target, records), lambda change: changes.disconnect(target, change, records)
    )
    if not change.is_none:
        say(f"{target.path}: {'removed' if change.after is None else 'Maestro was removed'}")
    elif is_known:
        say(f"{target.path}: had no entries of Maestro any more")
    return _DONE
