"""`python -m maestro.server`: run a server, or restore a backup. People use `maestro up` and `maestro restore`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

import msgspec

from maestro.client import main as client
from maestro.core import errors
from maestro.core.clock import SystemClock
from maestro.server import data_check, logs, offline
from maestro.server import home as homes
from maestro.server.agents_before_restore import require_no_agents
from maestro.server.lifecycle import run_server
from maestro.server.ready import ReadyPipe
from maestro.services.runners.sessions_folder import adopt_sessions_folder
from maestro.store.layout import BLOBS, DATABASE
from maestro.store.sqlite import replacement
from maestro.store.sqlite.compaction import compact_database
from maestro.store.sqlite.restore import restore_backup
from maestro.surfaces.cli.render import server as render
from maestro.surfaces.cli.render.style import View
from maestro.system import umasks
from maestro.wire import exit_codes


def main() -> int:
    """Run the command. Exit codes: 0 done, 1 failed, 5 another server uses the data directory, 6 no data exists."""
    options = _parse_options()
    home = Path(options.home).resolve()
    ready = ReadyPipe()
    umasks.make_files_private()
    logs.configure_logging()
    try:
        if options.backup:
            return _back_up(home, Path(options.backup), allow_missing=options.allow_missing, as_json=options.json)
        if options.check:
            return _check_data(home, slowly=options.slowly)
        if options.restart:
            homes.require_data(home)
        homes.prepare_home(home)
        if options.restore:
            with homes.HomeLock(home):
                adopt_sessions_folder(home)
            require_no_agents(home, end=options.end_agents)
            return _restore_backup(home, Path(options.restore), allow_missing=options.allow_missing)
        if options.compact:
            return _compact_database(home)
        with _event_loop_runner() as runner:
            runner.run(run_server(home, port=options.port, ready=ready))
    except errors.DataInUse as error:
        ready.report_result("busy")
        return _print_error(error, exit_codes.CONFLICT)
    except errors.StorageGone as error:
        return _print_error(error, exit_codes.NOT_FOUND)
    except OSError as error:
        fault = errors.storage_fault(error, f"The server cannot use {home}")
        ready.report_result(f"error: {fault.message} {fault.hint}".strip())
        return _print_error(fault, exit_codes.FAILED)
    except errors.MaestroError as error:
        ready.report_result(f"error: {error.message} {error.hint}".strip())
        return _print_error(error, exit_codes.FAILED)
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m maestro.server", description=__doc__)
    parser.add_argument("--home", default=client.data_directory(), help="the data directory")
    parser.add_argument("--port", type=int, help="the HTTP port on loopback (0: any)")
    parser.add_argument("--restart", action="store_true", help="do not create a data directory or a database")
    parser.add_argument("--restore", metavar="FILE", help="restore a backup and exit")
    parser.add_argument("--end-agents", action="store_true", help="end agents that still run, before a restore")
    parser.add_argument("--backup", metavar="FILE", help="write a backup without a server and exit")
    parser.add_argument("--compact", action="store_true", help="copy the database into a smaller file and exit")
    parser.add_argument("--check", action="store_true", help="check the stored data, print the result and exit")
    parser.add_argument("--slowly", action="store_true", help="check with the lowest priority")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--allow-missing", action="store_true", help="accept missing and damaged files")
    return parser.parse_args()


def _event_loop_runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:  # uvloop does not support every Python; the standard loop is enough
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _back_up(home: Path, target: Path, *, allow_missing: bool, as_json: bool) -> int:
    """Write a backup without a server, and print the same result as the server."""
    backup = offline.back_up_offline(home, target, allow_missing=allow_missing)
    if as_json:
        sys.stdout.write(msgspec.json.encode(backup).decode() + "\n")
        return 0
    rendered = render.render_backup(backup, View())
    sys.stdout.write(str(rendered.out))
    sys.stderr.write("".join(f"{note}\n" for note in rendered.notes))
    return 0


def _check_data(home: Path, *, slowly: bool) -> int:
    """Check the stored data, and print the result as JSON."""
    sys.stdout.write(msgspec.json.encode(data_check.check_data_directory(home, slowly=slowly)).decode() + "\n")
    return 0


def _restore_backup(home: Path, archive: Path, *, allow_missing: bool) -> int:
    with homes.HomeLock(home):
        restored = restore_backup(home, archive, at=SystemClock().now(), allow_missing=allow_missing)
    sys.stdout.write(f"Restored {archive} into {home}.\n")
    if restored.aside is not None:
        sys.stdout.write(f"The previous data is in {restored.aside}.\n")
    for state, files in (("missing", restored.files.missing), ("damaged", restored.files.damaged)):
        sys.stdout.write("".join(f"{state}: {BLOBS}/{file[:2]}/{file}\n" for file in files))
    return 0


def _compact_database(home: Path) -> int:
    with homes.HomeLock(home):
        replacement.finish_replacement(home)
        before, after = compact_database(home / DATABASE)
    sys.stdout.write(f"The database is compacted: {before:,} bytes before, {after:,} bytes now.\n")
    return 0


def _print_error(error: errors.MaestroError, exit_code: int) -> int:
    sys.stderr.write(f"maestro: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
