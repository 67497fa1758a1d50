"""The display name of a mailbox is the address that a sender writes."""

from __future__ import annotations

import pytest
from tests.unit.services.conftest import DAVE, OTHER, World

from maestro.domain.messages import HUMAN_MAILBOX
from maestro.services.mail.mailbox_names import mailbox_name


async def name_of(world: World, mailbox: str) -> str:
    return await world.store.read(lambda tx: mailbox_name(tx, mailbox))


async def test_the_name_of_a_mailbox_is_the_address_that_a_sender_writes(world: World) -> None:
    worker, ada = await world.join("w"), await world.member("ada")
    names = {worker.name: "w", ada.id: "@ada", DAVE.id: "dave/vc", OTHER.id: "other", HUMAN_MAILBOX: HUMAN_MAILBOX}
    for mailbox, name in names.items():
        assert await name_of(world, mailbox) == name


async def test_the_mailbox_of_an_ended_session_keeps_the_name_of_the_session(world: World) -> None:
    worker = await world.join("w")
    await world.end(worker)
    assert await name_of(world, worker.name) == "w"


@pytest.mark.parametrize("mailbox", ["ses_unknown", "mem_unknown", "wsp_unknown", "prj_unknown", "elsewhere"])
async def test_the_name_of_an_unknown_mailbox_is_its_id(world: World, mailbox: str) -> None:
    assert await name_of(world, mailbox) == mailbox
