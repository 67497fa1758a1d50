"""A backup writes a verified archive to the target, or fails and leaves no file at the target."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from tests.unit.services.conftest import World

from maestro.core import errors, limits
from maestro.operations.mail_shapes import MailFile
from maestro.operations.server import BackupResult, CreateBackup
from maestro.services import backups
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.store.layout import BLOBS, DATABASE

LARGE = b"x" * (limits.inline_bytes_max + 1)  # stored as a blob file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a folder for backups and return it."""
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


@pytest.fixture
def health(tmp_path: Path) -> StorageHealth:
    return StorageHealth(tmp_path)


async def create_backup(
    world: World, health: StorageHealth, target: Path, *, allow_missing: bool = False
) -> BackupResult:
    service = backups.Backups(world.store, world.blobs, health)
    return await service.create_backup(world.dana, CreateBackup(file=str(target), allow_missing=allow_missing))


async def add_blob(world: World) -> Path:
    """Send a message with a large attachment, and return the blob file of the attachment."""
    await world.send(None, "vc", attach=[MailFile(file_name="large.txt", content=LARGE)])
    (file,) = world.blobs.all_files()
    return file


async def test_a_backup_holds_the_database_and_its_blobs(world: World, health: StorageHealth, folder: Path) -> None:
    blob, target = await add_blob(world), folder / "all.tar"
    result = await create_backup(world, health, target)
    assert (result.file, result.bytes, result.blobs) == (str(target), target.stat().st_size, 1)
    assert result.missing == result.damaged == [] and result.verification_ms > 0
    with tarfile.open(target) as packed:
        assert packed.getnames() == [DATABASE, f"{BLOBS}/{blob.name[:2]}/{blob.name}"]
    assert list(folder.iterdir()) == [target], "the temporary folder is removed"


async def test_a_backup_does_not_replace_an_existing_file(world: World, health: StorageHealth, folder: Path) -> None:
    target = folder / "all.tar"
    target.write_text("precious")
    with pytest.raises(errors.Conflict, match="already exists"):
        await create_backup(world, health, target)
    assert target.read_text() == "precious"


async def test_a_backup_into_a_missing_directory_is_refused(
    world: World, health: StorageHealth, folder: Path
) -> None:
    with pytest.raises(errors.NotFound, match="There is no directory"):
        await create_backup(world, health, folder / "missing" / "all.tar")


async def test_a_backup_with_a_file_name_that_is_too_long_is_refused(
    world: World, health: StorageHealth, folder: Path
) -> None:
    with pytest.raises(errors.Invalid, match="cannot be created"):
        await create_backup(world, health, folder / ("x" * 300))


async def test_a_missing_blob_fails_the_backup_unless_the_caller_allows_missing_blobs(
    world: World, health: StorageHealth, folder: Path
) -> None:
    blob, target = await add_blob(world), folder / "all.tar"
    blob.unlink()
    with pytest.raises(errors.FileMissing):
        await create_backup(world, health, target)
    assert list(folder.iterdir()) == []
    result = await create_backup(world, health, target, allow_missing=True)
    assert (result.blobs, result.missing) == (0, [blob.name])


async def test_a_damaged_blob_fails_the_backup_unless_the_caller_allows_missing_blobs(
    world: World, health: StorageHealth, folder: Path
) -> None:
    blob, target = await add_blob(world), folder / "all.tar"
    blob.write_bytes(b"damaged")
    with pytest.raises(errors.FileDamaged):
        await create_backup(world, health, target)
    assert list(folder.iterdir()) == []
    assert (await create_backup(world, health, target, allow_missing=True)).damaged == [blob.name]


async def test_a_log_with_lost_events_fails_the_backup(world: World, health: StorageHealth, folder: Path) -> None:
    finding = DamageFinding(DamageKind.LOST_EVENTS, "Events are lost.")
    health.record_finding(finding, at=world.clock.now())
    with pytest.raises(errors.MaestroError):
        await create_backup(world, health, folder / "all.tar")
    assert (await create_backup(world, health, folder / "all.tar", allow_missing=True)).bytes > 0
