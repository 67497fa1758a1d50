"""The settings for new worktrees of a checkout, without a set-up command that the person did not take over yet."""

from __future__ import annotations

import asyncio

import msgspec

from maestro.git import worktrees
from maestro.store.base import Store


class CheckoutSettings(msgspec.Struct, frozen=True):
    """What may be done in new worktrees, and why a set-up command was left out."""

    settings: worktrees.Settings
    refusal: str = ""


async def read_settings(store: Store, project_id: str, checkout: str) -> CheckoutSettings:
    """Return the settings of a checkout. A session may have written them, so only accepted commands stay."""
    found = await asyncio.to_thread(worktrees.read_settings, checkout)
    if not found.setup or await store.read(lambda tx: tx.projects.accepts_setup(project_id, found.setup), quick=True):
        return CheckoutSettings(found)
    refusal = (
        f"The set-up command `{found.setup}` of {checkout}/.maestro/config.toml was not run: it is new, and the "
        "person has not been there since. Ask the person to run `maestro init` in that checkout."
    )
    return CheckoutSettings(msgspec.structs.replace(found, setup=""), refusal)
