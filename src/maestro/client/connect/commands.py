"""`maestro connect` and `maestro disconnect`: say what changes, change it, try it."""

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
    parser = _parser("connect", "Add Maestro's hooks and MCP server to an agent program's settings.")
    parser.add_argument(
        "--scope", choices=tuple(Scope), default=Scope.USER, help="your own settings, or the project's"
    )
    parser.add_argument("--trust", action="store_true", help="codex: mark the hooks as reviewed, in your name")
    chosen = parser.parse_args(arguments)
    place.require_person("connects agents")
    work = Connecting(chosen.tool, Scope(chosen.scope))
    if chosen.dry_run:
        return work.show()
    return work.run(trusts=chosen.trust)


def disconnect(arguments: list[str]) -> int:
    parser = _parser("disconnect", "Take Maestro out of an agent program's settings again.")
    parser.add_argument("--scope", choices=tuple(Scope), help="only your own settings, or only the project's")
    chosen = parser.parse_args(arguments)
    place.require_person("disconnects agents")
    scopes = [Scope(chosen.scope)] if chosen.scope else list(Scope)
    return max(_disconnect(chosen.tool, scope, dry=chosen.dry_run) for scope in scopes)


def _parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"maestro {name}", description=description)
    parser.add_argument("tool", metavar="TOOL", choices=entries.TOOLS, help=", ".join(entries.TOOLS))
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    return parser


@dataclass
class Connecting:
    """One program, in one scope."""

    tool: str
    scope: Scope

    def __post_init__(self) -> None:
        self.records = Records(place.home())
        self.directory = place.project()
        caller = entries.this_program()
        self.targets = entries.targets(self.tool, self.scope, caller, directory=self.directory)

    def show(self) -> int:
        """What would change."""
        found = self._changes()
        if found is None:
            return _FAILED
        for target, change in found:
            say(change.diff(target.path).rstrip("\n") if not change.is_none else f"{target.path}: nothing to change")
        self._tell_notes(found)
        return _DONE

    def run(self, *, trusts: bool) -> int:
        """Change it, and try every hook. If one file cannot be changed, none is."""
        if self._changes() is None:
            return _FAILED
        try:
            done = [(target, self._carry_out(target)) for target in self.targets]
        except LeftAlone as reason:
            say(f"not all was changed: {reason}; maestro disconnect {self.tool} takes back what was")
            return _FAILED
        for target, change in done:
            say(f"{target.path}: {'as it should be already' if change.is_none else 'changed'}")
        self._tell_notes(done)
        code = self._try_out()
        if self.tool == "codex":
            code = max(code, self._review(trusts=trusts))
        if code == _DONE:
            say(f"{self.tool} is connected: start it anew, and it is an agent of whatever project it works in.")
        return code

    def _carry_out(self, target: Target) -> Change:
        def do(change: Change) -> None:
            if not change.is_none or self.records.get(target.path) is None:
                changes.connect(target, change, self.records, tool=self.tool, scope=self.scope.value)

        try:
            return changes.persistently(lambda: changes.connecting(target, self.records), do)
        except LeftAlone as reason:
            raise LeftAlone(f"{target.path} stays as it is: {reason}") from None

    def _changes(self) -> list[tuple[Target, Change]] | None:
        """What would be done; None if something cannot be, which is told."""
        found, is_good = [], True
        for target in self.targets:
            try:
                change = changes.connecting(target, self.records)
                if not change.is_none and change.found.content is not None and not change.found.mode & 0o222:
                    raise LeftAlone("it is read-only")
                found.append((target, change))
            except LeftAlone as reason:
                say(f"{target.path} stays as it is: {reason}")
                is_good = False
        if not is_good:
            say("nothing was changed")
        return found if is_good else None

    def _tell_notes(self, found: list[tuple[Target, Change]]) -> None:
        for _, change in found:
            for note in change.notes:
                say(note)

    def _try_out(self) -> int:
        if not place.start_server():
            say("the hooks were not tried: no server runs (maestro up)")
            return _FAILED
        tried = [self_test.fire(one, self.directory) for target in self.targets for one in self._commands(target)]
        for one in tried:
            if one.problem:
                say(f"  {one.event}: {one.problem}")
        good = [one for one in tried if not one.problem]
        if good:
            quickest = sorted(one.milliseconds for one in good)[len(good) // 2]
            say(f"{len(good)} of {len(tried)} hooks were fired and answered, in {quickest:.0f} ms each")
        return _DONE if len(good) == len(tried) else _FAILED

    def _commands(self, target: Target) -> list[str]:
        if not target.hooks:
            return []
        return merging.commands(files.read(target.path).text)

    def _review(self, *, trusts: bool) -> int:
        """Codex skips hooks that nobody has reviewed, and says nothing of it. So this is said here."""
        program = programs.find("codex")
        found = trust.ask(program.path, self.directory) if program is not None else None
        waiting = [one for one in found or () if not one.is_trusted]
        if found is None:
            say("codex could not be asked about these hooks; when it starts, it asks you to review them: do")
            return _DONE
        if found and not waiting:
            say("codex has these hooks as reviewed")
            return _DONE
        if not trusts:
            say(f"codex does not run {len(waiting)} of these hooks before you have reviewed them: it asks when it")
            say("starts, and until then `codex exec` leaves them out without a word.")
            say("`maestro connect codex --trust` marks them as reviewed, in your name.")
            return _DONE
        return self._trust({one.key: one.digest for one in waiting})

    def _trust(self, hashes: dict[str, str]) -> int:
        target = next(one for one in self.targets if one.mcp_keys)

        def do(change: Change) -> None:
            changes.connect(target, change, self.records, tool=self.tool, scope=self.scope.value)

        try:
            changes.persistently(lambda: changes.trusting(target, self.records, hashes), do)
        except LeftAlone as reason:
            say(f"{target.path} stays as it is: {reason}")
            return _FAILED
        say(f"{target.path}: {len(hashes)} hooks are marked as reviewed, in your name")
        return _DONE


def _disconnect(tool: str, scope: Scope, *, dry: bool) -> int:
    records = Records(place.home())
    wanted = entries.targets(tool, scope, entries.this_program(), directory=place.project())
    # What was connected from elsewhere, or with other folders in the environment, is in the records.
    paths = {target.path for target in wanted}
    known = [one for one in records.of(tool) if one.scope == scope.value and Path(one.path) not in paths]
    elsewhere = [_elsewhere(wanted, Path(one.path)) for one in known] if scope is Scope.USER else []
    code = _DONE
    for target in [*wanted, *elsewhere]:
        try:
            code = max(code, _take_out(target, records, dry=dry))
        except LeftAlone as reason:
            say(f"{target.path} stays as it is: {reason}")
            code = _FAILED
    return code


def _elsewhere(wanted: list[Target], path: Path) -> Target:
    alike = next((one for one in wanted if one.path.name == path.name), wanted[0])
    return Target(path, alike.format, hooks=alike.hooks, mcp=alike.mcp, mcp_keys=alike.mcp_keys)


def _take_out(target: Target, records: Records, *, dry: bool) -> int:
    if dry:
        change = changes.disconnecting(target, records)
        if not change.is_none:
            say(change.diff(target.path).rstrip("\n"))
        return _DONE
    is_known = records.get(target.path) is not None
    change = changes.persistently(
        lambda: changes.disconnecting(target, records), lambda made: changes.disconnect(target, made, records)
    )
    if not change.is_none:
        say(f"{target.path}: {'removed' if change.after is None else 'Maestro was taken out'}")
    elif is_known:
        say(f"{target.path}: nothing of Maestro was there any more")
    return _DONE
