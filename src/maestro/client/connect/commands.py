"""`maestro connect` and `maestro disconnect`: report the changes of the settings, make them, and test the hooks."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from maestro.client.connect import (
    changes,
    context,
    entries,
    files,
    hook_review,
    installed_programs,
    self_test,
    settings_text,
)
from maestro.client.connect.change_records import ConnectRecords
from maestro.client.connect.changes import FileChange
from maestro.client.connect.context import print_line
from maestro.client.connect.settings_text import NotChangeable
from maestro.tools import registry
from maestro.tools.connect_support import HookReview, ListedHook, SettingsScope, SettingsTarget

_DONE, _FAILED = 0, 1


def run_connect(arguments: list[str]) -> int:
    parser = _make_parser("connect", "Add Maestro's hooks and MCP server to the settings of a tool.")
    parser.add_argument(
        "--scope",
        choices=tuple(SettingsScope),
        default=SettingsScope.USER,
        help="your own settings, or the project's",
    )
    parser.add_argument(
        "--trust", action="store_true", help=f"{_reviewing_tools()}: mark the hooks as reviewed, in your name"
    )
    chosen = parser.parse_args(arguments)
    context.require_person("connects agents")
    connecting = ToolConnection(chosen.tool, SettingsScope(chosen.scope))
    if chosen.dry_run:
        return connecting.show_changes()
    return connecting.connect_tool(trusts=chosen.trust)


def run_disconnect(arguments: list[str]) -> int:
    parser = _make_parser("disconnect", "Remove Maestro from the settings of a tool.")
    parser.add_argument("--scope", choices=tuple(SettingsScope), help="only your own settings, or only the project's")
    chosen = parser.parse_args(arguments)
    context.require_person("disconnects agents")
    scopes = [SettingsScope(chosen.scope)] if chosen.scope else list(SettingsScope)
    return max(_disconnect_scope(chosen.tool, scope, dry=chosen.dry_run) for scope in scopes)


def _make_parser(name: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"maestro {name}", description=description)
    parser.add_argument("tool", metavar="TOOL", choices=entries.TOOLS, help=", ".join(entries.TOOLS))
    parser.add_argument("--dry-run", action="store_true", help="only show the changes")
    return parser


def _reviewing_tools() -> str:
    """Return the tools whose programs run only hooks that the person has reviewed."""
    return ", ".join(name for name, tool in registry.CONNECTABLE.items() if tool.hook_review)


@dataclass
class ToolConnection:
    """The connection of one tool to Maestro, in one scope of settings."""

    tool: str
    scope: SettingsScope

    def __post_init__(self) -> None:
        self.records = ConnectRecords(context.data_directory())
        self.directory = context.project_directory()
        caller = entries.maestro_command()
        self.targets = entries.settings_targets(self.tool, self.scope, caller, directory=self.directory)

    def show_changes(self) -> int:
        """Print the changes that `connect_tool` would make."""
        planned = self._planned_changes()
        if planned is None:
            return _FAILED
        for target, change in planned:
            print_line(
                change.format_diff(target.path).rstrip("\n")
                if not change.is_none
                else f"{target.path}: nothing to change"
            )
        self._print_notes(planned)
        return _DONE

    def connect_tool(self, *, trusts: bool) -> int:
        """Change the settings, and test every hook. If one file cannot be changed, change no file."""
        if self._planned_changes() is None:
            return _FAILED
        try:
            done = [(target, self._change_file(target)) for target in self.targets]
        except NotChangeable as reason:
            print_line(
                f"some files are not changed: {reason}; to undo the other changes: maestro disconnect {self.tool}"
            )
            return _FAILED
        for target, change in done:
            print_line(f"{target.path}: {'already up to date' if change.is_none else 'changed'}")
        self._print_notes(done)
        code = self._test_hooks()
        if (review := registry.CONNECTABLE[self.tool].hook_review) is not None:
            code = max(code, self._report_review(review, trusts=trusts))
        if code == _DONE:
            print_line(f"{self.tool} is connected: restart {self.tool}, and it joins the project of its directory.")
        return code

    def _change_file(self, target: SettingsTarget) -> FileChange:
        def apply(change: FileChange) -> None:
            if not change.is_none or self.records.find_record(target.path) is None:
                changes.apply_connect(target, change, self.records, tool=self.tool, scope=self.scope.value)

        try:
            return changes.change_with_retries(lambda: changes.plan_connect(target, self.records), apply)
        except NotChangeable as reason:
            raise NotChangeable(f"{target.path} is not changed: {reason}") from None

    def _planned_changes(self) -> list[tuple[SettingsTarget, FileChange]] | None:
        """Return the planned changes; print the reason and return None if a file cannot be changed."""
        planned, is_good = [], True
        for target in self.targets:
            try:
                change = changes.plan_connect(target, self.records)
                if not change.is_none and change.settings.content is not None and not change.settings.mode & 0o222:
                    raise NotChangeable("the file is read-only")
                planned.append((target, change))
            except NotChangeable as reason:
                print_line(f"{target.path} is not changed: {reason}")
                is_good = False
        if not is_good:
            print_line("nothing was changed")
        return planned if is_good else None

    def _print_notes(self, planned: list[tuple[SettingsTarget, FileChange]]) -> None:
        for _, change in planned:
            for note in change.notes:
                print_line(note)

    def _test_hooks(self) -> int:
        if not context.start_server():
            print_line("the hooks were not tested: no server runs; start a server: maestro up")
            return _FAILED
        commands = (command for target in self.targets for command in self._hook_commands(target))
        tests = [self_test.run_hook(command, self.directory) for command in commands]
        for test in tests:
            if test.problem:
                print_line(f"  {test.event}: {test.problem}")
        good = [test for test in tests if not test.problem]
        if good:
            median = sorted(test.milliseconds for test in good)[len(good) // 2]
            print_line(f"{len(good)} of {len(tests)} hooks were fired and answered, in {median:.0f} ms each")
        return _DONE if len(good) == len(tests) else _FAILED

    def _hook_commands(self, target: SettingsTarget) -> list[str]:
        if not target.hooks:
            return []
        return settings_text.hook_commands(files.read_settings(target.path).text)

    def _report_review(self, review: HookReview, *, trusts: bool) -> int:
        """Report or mark the hooks that the person has not reviewed: the program skips these hooks."""
        program = installed_programs.find_program(self.tool)
        hooks = hook_review.list_hooks(program.path, review, self.directory) if program is not None else None
        unreviewed = [hook for hook in hooks or () if not hook.is_trusted]
        if hooks is None:
            print_line(
                f"{self.tool} did not answer about these hooks; "
                f"review the hooks when {self.tool} asks you at its next start"
            )
            return _DONE
        if hooks and not unreviewed:
            print_line(f"{self.tool} lists these hooks as reviewed")
            return _DONE
        if not trusts:
            print_line(
                f"{self.tool} does not run {len(unreviewed)} of these hooks before you have reviewed them: "
                f"{self.tool} asks you"
            )
            print_line(f"at its next start. Until then {review.skip_note}.")
            print_line(f"`maestro connect {self.tool} --trust` marks the hooks as reviewed, in your name.")
            return _DONE
        return self._mark_reviewed(review, unreviewed)

    def _mark_reviewed(self, review: HookReview, hooks: list[ListedHook]) -> int:
        target = next(target for target in self.targets if target.mcp_keys)
        marks = [review.reviewed_table(hook) for hook in hooks]

        def apply(change: FileChange) -> None:
            changes.apply_connect(target, change, self.records, tool=self.tool, scope=self.scope.value)

        try:
            changes.change_with_retries(lambda: changes.plan_trust(target, self.records, marks), apply)
        except NotChangeable as reason:
            print_line(f"{target.path} is not changed: {reason}")
            return _FAILED
        print_line(f"{target.path}: {len(hooks)} hooks are marked as reviewed, in your name")
        return _DONE


def _disconnect_scope(tool: str, scope: SettingsScope, *, dry: bool) -> int:
    records = ConnectRecords(context.data_directory())
    targets = entries.settings_targets(tool, scope, entries.maestro_command(), directory=context.project_directory())
    # The records also name files of other directories, and of other folders in the environment.
    paths = {target.path for target in targets}
    other_records = [
        record
        for record in records.records_of_tool(tool)
        if record.scope == scope.value and Path(record.path) not in paths
    ]
    elsewhere = (
        [_target_at(targets, Path(record.path)) for record in other_records] if scope is SettingsScope.USER else []
    )
    code = _DONE
    for target in [*targets, *elsewhere]:
        try:
            code = max(code, _remove_entries(target, records, dry=dry))
        except NotChangeable as reason:
            print_line(f"{target.path} is not changed: {reason}")
            code = _FAILED
    return code


def _target_at(targets: list[SettingsTarget], path: Path) -> SettingsTarget:
    alike = next((target for target in targets if target.path.name == path.name), targets[0])
    return SettingsTarget(path, alike.format, hooks=alike.hooks, mcp=alike.mcp, mcp_keys=alike.mcp_keys)


def _remove_entries(target: SettingsTarget, records: ConnectRecords, *, dry: bool) -> int:
    if dry:
        change = changes.plan_disconnect(target, records)
        if not change.is_none:
            print_line(change.format_diff(target.path).rstrip("\n"))
        return _DONE
    is_known = records.find_record(target.path) is not None
    change = changes.change_with_retries(
        lambda: changes.plan_disconnect(target, records),
        lambda change: changes.apply_disconnect(target, change, records),
    )
    if not change.is_none:
        print_line(f"{target.path}: {'removed' if change.after is None else 'Maestro was removed'}")
    elif is_known:
        print_line(f"{target.path}: had no entries of Maestro any more")
    return _DONE
