"""The facts of a checkout that somebody names. git runs there only if the store knows the checkout.

An agent may have made any other folder. Of those the facts are read from files, without any program.
"""

from __future__ import annotations

import os

from maestro.domain import git_config, remotes
from maestro.domain.git_config import Setting
from maestro.domain.identity import Checkout, place
from maestro.git import git_program, repositories
from maestro.git.repositories import Repository
from maestro.store.base import Store, Tx


async def read_checkout(store: Store, directory: str) -> Checkout | None:
    """Return the facts of the checkout around a directory; None outside of any repository.

    The first commit is looked for only where a project is known by it. The person's `init` asks for it elsewhere.
    """
    found = repositories.find_repository(directory)
    if found is None:
        return None
    facts = Checkout(toplevel=found.top, git_dir=found.git_dir, common_dir=found.common_dir)
    is_known, has_root = await store.read(lambda tx: _knows(tx, facts), quick=True)
    if is_known or has_root or not _is_own(found):
        return await git_program.checkout_at(directory, asks_root=has_root)
    return await _read_facts(found, facts)


def _knows(tx: Tx, facts: Checkout) -> tuple[bool, bool]:
    """Whether the store knows the checkout, and whether it knows a project by the first commit of its repository."""
    by_root = tx.projects.by_local_path(remotes.path_in_key(place(facts)))
    return tx.projects.workspace_at(facts.toplevel) is not None, by_root is not None


def _is_own(found: Repository) -> bool:
    """Tell whether the checkout is of this user: agents made no other, and git asks whether the owner is trusted."""
    return all(os.stat(path).st_uid == os.geteuid() for path in (found.top, found.git_dir))  # noqa: PTH116


async def _read_facts(found: Repository, facts: Checkout) -> Checkout:
    settings = repositories.read_config(f"{found.common_dir}/config")
    if any(one.key == "extensions.worktreeconfig" and one.is_true for one in settings):
        settings += repositories.read_config(f"{found.git_dir}/config.worktree")
    addresses = git_config.remote_addresses(settings)
    if addresses:
        rules = [*await _persons_rules(), *settings]
        addresses = {name: git_config.rewrite_address(url, rules) for name, url in addresses.items()}
    return Checkout(
        toplevel=facts.toplevel,
        git_dir=facts.git_dir,
        common_dir=facts.common_dir,
        remotes=git_program.settle_addresses(facts, addresses),
        is_shallow=_has_text(f"{found.common_dir}/shallow"),
    )


async def _persons_rules() -> list[Setting]:
    """Return the `insteadOf` rules outside of any repository: git reads them, since they may include other files."""
    printed = await git_program.run_anywhere("config", "--null", "--get-regexp", r"^url\..*\.insteadof$")
    pairs = [entry.partition("\n") for entry in printed.split("\0") if entry]
    return [Setting(key, value) for key, _, value in pairs]


def _has_text(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0  # noqa: PTH116
    except OSError:
        return False
