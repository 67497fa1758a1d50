"""A data directory without a running server is backed up, and damaged or incomplete data is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server.app import Server
from maestro.server.home import HomeLock
from maestro.server.offline import back_up_offline
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.store.layout import DATABASE, MARK
from maestro.store.mark import Mark


@pytest.fixture
async def home(server: Server, vc: str) -> Path:
    """Return a data directory with a project and without a running server."""
    await server.close()
    return server.home


async def test_an_offline_backup_changes_no_file_of_the_data_directory(home: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    back_up_offline(home, tmp_path / "backup.tar", allow_missing=False)
    assert (tmp_path / "backup.tar").stat().st_size > 0
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


async def test_an_offline_backup_is_refused_while_a_server_holds_the_lock(home: Path, tmp_path: Path) -> None:
    with HomeLock(home), pytest.raises(errors.DataInUse):
        back_up_offline(home, tmp_path / "backup.tar", allow_missing=False)
    assert not (tmp_path / "backup.tar").exists()


def test_an_offline_backup_of_a_directory_without_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.NotFound, match="contains no database"):
        back_up_offline(tmp_path / "empty", tmp_path / "backup.tar", allow_missing=False)


async def test_an_offline_backup_of_a_file_that_is_not_a_database_is_refused(home: Path, tmp_path: Path) -> None:
    (home / DATABASE).write_bytes(b"no database" * 1000)
    with pytest.raises(errors.StorageFailed):
        back_up_offline(home, tmp_path / "backup.tar", allow_missing=False)


async def test_an_offline_backup_of_a_store_behind_its_mark_needs_allow_missing(home: Path, tmp_path: Path) -> None:
    mark = Mark(home / MARK)
    mark.write((mark.read() or 0) + 5)
    with pytest.raises(errors.StorageDamaged) as refused:
        back_up_offline(home, tmp_path / "backup.tar", allow_missing=False)
    assert "--allow-missing" in refused.value.hint
    back_up_offline(home, tmp_path / "backup.tar", allow_missing=True)
    assert (tmp_path / "backup.tar").exists()


async def test_an_offline_backup_with_a_recorded_loss_is_refused_without_allow_missing(
    home: Path, server: Server, tmp_path: Path
) -> None:
    finding = DamageFinding(DamageKind.LOST_EVENTS, "Events 3 to 5 are lost.")
    StorageHealth(home).record_finding(finding, at=server.clock.now())
    with pytest.raises(errors.StorageFailed):
        back_up_offline(home, tmp_path / "backup.tar", allow_missing=False)
