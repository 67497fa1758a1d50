"""`python -m maestro.server`: run a server, or restore a backup. People use `maestro up` and `maestro restore`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

from maestro import errors
from maestro.client import thin
from maestro.clock import SystemClock
from maestro.server import home as homes
from maestro.server.lifecycle import run
from maestro.server.ready import Ready
from maestro.store.sqlite.restore import restore


def main() -> int:
    """The exit code: 0 done, 1 failed, 5 another server has the data directory."""
    options = _options()
    home = Path(options.home).resolve()
    ready = Ready()
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        homes.prepare(home)
        if options.restore:
            return _restore(home, Path(options.restore))
        with _runner() as runner:
            runner.run(run(home, port=options.port, ready=ready))
    except errors.DataInUse as error:
        ready.say("busy")
        return _tell(error, 5)
    except OSError as error:
        fault = errors.storage_fault(error, f"The server cannot use {home}")
        ready.say(f"error: {fault.message} {fault.hint}".strip())
        return _tell(fault, 1)
    except errors.MaestroError as error:
        ready.say(f"error: {error.message} {error.hint}".strip())
        return _tell(error, 1)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m maestro.server", description=__doc__)
    parser.add_argument("--home", default=thin.home(), help="the data directory")
    parser.add_argument("--port", type=int, help="the HTTP port on loopback (0: any)")
    parser.add_argument("--restore", metavar="FILE", help="put a backup in place and exit")
    return parser.parse_args()


def _runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:  # not there for every Python; the standard loop does
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _restore(home: Path, archive: Path) -> int:
    with homes.HomeLock(home):
        aside = restore(home, archive, at=SystemClock().now())
    sys.stdout.write(f"Restored {archive} into {home}.\n")
    if aside is not None:
        sys.stdout.write(f"What was there before is in {aside}.\n")
    return 0


def _tell(error: errors.MaestroError, code: int) -> int:
    sys.stderr.write(f"maestro: {error.message}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
