"""The stored data: backups, the daily check, disk space, and faults of the storage."""

from __future__ import annotations

import logging
from functools import partial

from maestro.core import errors
from maestro.domain.events import EventKind
from maestro.operations import server as server_ops
from maestro.server.base import ServerBase
from maestro.server.check_process import check_in_subprocess
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.services.backups import Backups
from maestro.services.housekeeping.released_space import SpaceReleaseJob
from maestro.services.housekeeping.storage_checks import StorageCheckJob
from maestro.services.housekeeping.stray_blobs import StrayBlobJob
from maestro.store.health import DamageFinding, DamageKind

log = logging.getLogger(__name__)


def build_storage(base: ServerBase) -> Part:
    backups = Backups(base.store, base.blobs, base.health)
    check = partial(check_in_subprocess, base.home)
    base.store.on_fault(partial(handle_storage_fault, base))
    return Part(
        bindings={server_ops.BACKUP.name: Binding(backups.create_backup)},
        jobs=(
            PartJob(SpaceReleaseJob(base.store)),
            PartJob(
                StorageCheckJob(base.store, base.health, clock=base.clock, check=check),
                runs_after=(EventKind.ASK_ANSWERED,),
            ),
            PartJob(StrayBlobJob(base.store, base.blobs, clock=base.clock)),
        ),
    )


def handle_storage_fault(base: ServerBase, fault: errors.StorageFailed) -> None:
    """Stop the server when the data directory is gone. Record damage, and tell the person about the damage."""
    if isinstance(fault, errors.StorageDamaged):
        finding = DamageFinding(DamageKind.DATABASE, fault.message)
        if base.health.record_finding(finding, at=base.clock.now()):
            base.background_jobs.nudge_job(StorageCheckJob.name)
    if isinstance(fault, errors.StorageGone) and base.state.fault is None:
        log.error("%s", fault.message)
        base.state.fault = fault
        base.state.stopping.set()
