"""Read the facts of a checkout. The git program runs only in a checkout that the store knows.

An agent may have created any other folder. The facts of such a folder are read from its files, without a program.
"""

from __future__ import annotations

import os

from maestro.domain import git_config, remotes
from maestro.domain.git_config import GitSetting
from maestro.domain.identity import Checkout, repository_path
from maestro.git import git_program, repositories
from maestro.git.repositories import Repository
from maestro.store.base import Store, Tx


async def read_checkout(store: Store, directory: str) -> Checkout | None:
    """Return the facts of the checkout around a directory; None outside of any repository.

    The first commit is read only where a project is identified by it. Elsewhere the person's `init` reads it.
    """
    repository = repositories.find_repository(directory)
    if repository is None:
        return None
    facts = Checkout(toplevel=repository.top, git_dir=repository.git_dir, common_dir=repository.common_dir)
    is_known, has_root = await store.read(lambda tx: _is_known(tx, facts), quick=True)
    if is_known or has_root or not _is_own(repository):
        return await git_program.checkout_at(directory, asks_root=has_root)
    return await _read_facts(repository, facts)


def _is_known(tx: Tx, facts: Checkout) -> tuple[bool, bool]:
    """Return whether the store knows the checkout, and whether a project is identified by the first commit."""
    by_root = tx.projects.by_local_path(remotes.path_in_key(repository_path(facts)))
    return tx.projects.workspace_at(facts.toplevel) is not None, by_root is not None


def _is_own(repository: Repository) -> bool:
    """Return whether the checkout belongs to this user. Agents create no other checkouts.

    For a checkout of another user, git itself checks whether the owner is trusted.
    """
    return all(os.stat(path).st_uid == os.geteuid() for path in (repository.top, repository.git_dir))  # noqa: PTH116


async def _read_facts(repository: Repository, facts: Checkout) -> Checkout:
    settings = repositories.read_config(f"{repository.common_dir}/config")
    if any(setting.key == "extensions.worktreeconfig" and setting.is_true for setting in settings):
        settings += repositories.read_config(f"{repository.git_dir}/config.worktree")
    addresses = git_config.remote_addresses(settings)
    if addresses:
        rules = [*await _person_address_rules(), *settings]
        addresses = {name: git_config.rewrite_address(url, rules) for name, url in addresses.items()}
    return Checkout(
        toplevel=facts.toplevel,
        git_dir=facts.git_dir,
        common_dir=facts.common_dir,
        remotes=git_program.resolve_addresses(facts, addresses),
        is_shallow=_is_nonempty_file(f"{repository.common_dir}/shallow"),
    )


async def _person_address_rules() -> list[GitSetting]:
    """Return the person's `insteadOf` rules. The git program reads them, because they may include other files."""
    printed = await git_program.run_outside_repositories("config", "--null", "--get-regexp", r"^url\..*\.insteadof$")
    pairs = [entry.partition("\n") for entry in printed.split("\0") if entry]
    return [GitSetting(key, value) for key, _, value in pairs]


def _is_nonempty_file(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0  # noqa: PTH116
    except OSError:
        return False
