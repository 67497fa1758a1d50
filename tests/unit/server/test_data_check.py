"""The full check of a data directory reports damaged files, a damaged database and lost events."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import documents as document_ops
from maestro.operations import tasks as task_ops
from maestro.server import data_check
from maestro.server.app import Server
from maestro.server.data_check import check_data_directory
from maestro.store.health import DamageFinding, DamageKind, StorageHealth
from maestro.store.layout import DATABASE, MARK
from maestro.store.mark import Mark


async def add_documents(server: Server, caller: Caller, project: str, count: int) -> list[Path]:
    task = await server.call(task_ops.CREATE, task_ops.CreateTask(project=project, title="t"), caller=caller)
    for number in range(count):
        content = b"%d" % number * (limits.inline_bytes_max + 1)
        request = document_ops.AddDocument(id=task.id, title="d", content=content)
        await server.call(document_ops.ADD, request, caller=caller)
    return list(server.blobs.all_files())


def test_the_check_of_a_directory_without_a_database_has_no_findings(tmp_path: Path) -> None:
    assert check_data_directory(tmp_path, slowly=False).findings == []


async def test_the_check_of_undamaged_data_has_no_findings(server: Server, dana: Caller, vc: str) -> None:
    await add_documents(server, dana, vc, 2)
    report = check_data_directory(server.home, slowly=False)
    assert (report.findings, report.files) == ([], 2)


async def test_a_slow_check_lowers_the_priority_of_its_process(
    server: Server, dana: Caller, vc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_documents(server, dana, vc, 1)
    niceness: list[int] = []
    monkeypatch.setattr(data_check.os, "nice", niceness.append)
    monkeypatch.setattr(limits, "check_pause_seconds", 0)
    assert check_data_directory(server.home, slowly=True).findings == []
    assert niceness == [19]


async def test_the_check_names_damaged_and_missing_files_up_to_a_limit(server: Server, dana: Caller, vc: str) -> None:
    files = await add_documents(server, dana, vc, limits.damage_lines_max + 2)
    files[0].write_bytes(b"damaged")
    for file in files[1:]:
        file.unlink()
    (finding,) = check_data_directory(server.home, slowly=False).findings
    assert finding.kind is DamageKind.FILES and finding.text.endswith(" 2 more files are damaged or missing.")


def test_a_file_that_is_not_a_database_is_reported_as_damage(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"no database" * 1000)
    (finding,) = check_data_directory(tmp_path, slowly=False).findings
    assert finding.kind is DamageKind.DATABASE


async def test_a_store_behind_its_mark_is_reported_as_lost_events(server: Server, vc: str) -> None:
    await server.close()
    mark = Mark(server.home / MARK)
    marked = mark.read()
    assert marked is not None
    mark.write(marked + 5)
    (finding,) = check_data_directory(server.home, slowly=False).findings
    assert finding.kind is DamageKind.LOST_EVENTS


async def test_the_check_reports_an_already_recorded_loss_again(server: Server, vc: str) -> None:
    recorded = DamageFinding(DamageKind.LOST_EVENTS, "Events 3 to 5 are lost.")
    StorageHealth(server.home).record_finding(recorded, at=server.clock.now())
    assert check_data_directory(server.home, slowly=False).findings == [recorded]
