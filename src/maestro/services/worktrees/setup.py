"""Read the settings for new worktrees of a checkout, without a set-up command that the person has not accepted."""

from __future__ import annotations

import asyncio

import msgspec

from maestro.git import worktrees
from maestro.store.base import Store


class CheckoutSettings(msgspec.Struct, frozen=True):
    """The settings for new worktrees, and why the set-up command was left out."""

    settings: worktrees.WorktreeSettings
    refusal: str = ""


async def read_settings(store: Store, project_id: str, checkout: str) -> CheckoutSettings:
    """Return the settings of a checkout. A session may have written the settings, so only accepted commands stay."""
    settings = await asyncio.to_thread(worktrees.read_settings, checkout)
    command = settings.setup
    if not command or await store.read(lambda tx: tx.projects.accepts_setup(project_id, command), quick=True):
        return CheckoutSettings(settings)
    refusal = (
        f"The set-up command `{command}` of {checkout}/.maestro/config.toml was not run: it is new, and the "
        "person has not accepted it yet. Ask the person to run `maestro init` in that checkout."
    )
    return CheckoutSettings(msgspec.structs.replace(settings, setup=""), refusal)
