"""A damaged or missing content file beside the database is named. Storing the same content again repairs the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from maestro.core import errors, limits
from maestro.domain.callers import Caller
from maestro.operations import documents as ops
from maestro.operations import tasks as task_ops
from maestro.server.app import Server

CONTENT = os.urandom(limits.inline_bytes_max + 100)


@pytest.fixture
async def task(server: Server, vc: str, dana: Caller) -> str:
    made = await server.call(task_ops.CREATE, task_ops.CreateTask(project=vc, title="t"), caller=dana)
    return str(made.id)


async def add(server: Server, dana: Caller, task: str, content: bytes = CONTENT) -> str:
    request = ops.AddDocument(id=task, title="d", content=content)
    document = await server.call(ops.ADD, request, caller=dana)
    return str(document.id)


async def show(server: Server, dana: Caller, document: str) -> bytes:
    shown = await server.call(ops.SHOW, ops.OneDocument(id=document), caller=dana)
    return bytes(shown.content)


def blob_file(server: Server) -> Path:
    (file,) = server.blobs.all_files()
    return file


DAMAGE = {
    "changed": lambda file: file.write_bytes(bytes([file.read_bytes()[0] ^ 1]) + file.read_bytes()[1:]),
    "cut": lambda file: os.truncate(file, 1000),
    "longer": lambda file: file.write_bytes(file.read_bytes() + b"x"),
    "empty": lambda file: os.truncate(file, 0),
}


@pytest.mark.parametrize("kind", DAMAGE)
async def test_a_damaged_file_is_refused_by_name(server: Server, dana: Caller, task: str, kind: str) -> None:
    document = await add(server, dana, task)
    DAMAGE[kind](blob_file(server))
    for _ in range(2):
        with pytest.raises(errors.MaestroError) as caught:
            await show(server, dana, document)
        assert caught.value.code == "file_damaged" and not caught.value.retryable
        assert blob_file(server).name in caught.value.message


async def test_a_file_that_is_damaged_after_its_first_load_is_refused(
    server: Server, dana: Caller, task: str
) -> None:
    document = await add(server, dana, task)
    assert await show(server, dana, document) == CONTENT
    for damage in DAMAGE.values():
        damage(blob_file(server))
        with pytest.raises(errors.MaestroError, match=blob_file(server).name):
            await show(server, dana, document)
        await add(server, dana, task)


async def test_a_missing_file_is_named_in_the_error(server: Server, dana: Caller, task: str) -> None:
    document = await add(server, dana, task)
    file = blob_file(server)
    file.unlink()
    with pytest.raises(errors.MaestroError) as caught:
        await show(server, dana, document)
    assert caught.value.code == "file_missing" and not caught.value.retryable
    assert file.name in caught.value.message and caught.value.hint


@pytest.mark.parametrize("kind", [*DAMAGE, "missing"])
async def test_storing_the_same_content_again_repairs_a_file(
    server: Server, dana: Caller, task: str, kind: str
) -> None:
    document = await add(server, dana, task)
    DAMAGE.get(kind, Path.unlink)(blob_file(server))
    again = await add(server, dana, task)
    assert await show(server, dana, document) == CONTENT
    assert await show(server, dana, again) == CONTENT
    assert blob_file(server).read_bytes() == CONTENT
