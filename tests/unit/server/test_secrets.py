"""The secrets of a data directory stay the same, are private, and are replaced after an exposure."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server.secrets import Secrets
from maestro.system import private_home


def test_secrets_are_created_once_with_access_only_for_their_owner(tmp_path: Path) -> None:
    first, second = Secrets(tmp_path), Secrets(tmp_path)
    assert first.session_token("ses_a") == second.session_token("ses_a") != first.session_token("ses_b")
    token = (tmp_path / "token").read_text().strip()
    assert second.is_person_token(token) and not second.is_person_token(token + "x")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("token", "secret")} == {0o600}


def test_each_session_and_each_epoch_has_its_own_runner_secret(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path)
    assert len({secrets.runner_secret(*key) for key in (("ses_a", 1), ("ses_a", 2), ("ses_b", 1))}) == 3


def test_another_data_directory_gives_other_tokens(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert Secrets(tmp_path / "one").session_token("ses_a") != Secrets(tmp_path / "two").session_token("ses_a")


@pytest.mark.parametrize("name", ["token", "secret"])
def test_a_secret_that_other_users_can_read_is_refused(tmp_path: Path, name: str) -> None:
    Secrets(tmp_path)
    (tmp_path / name).chmod(0o644)
    with pytest.raises(errors.StorageExposed, match="open to other users"):
        Secrets(tmp_path)


def test_a_secret_behind_a_link_is_refused(tmp_path: Path) -> None:
    Secrets(tmp_path)
    (tmp_path / "secret").rename(tmp_path / "elsewhere")
    (tmp_path / "secret").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(errors.StorageExposed, match="cannot be opened"):
        Secrets(tmp_path)


@pytest.mark.parametrize("content", [b"short", b"\xff" * 40])
def test_a_damaged_secret_is_refused(tmp_path: Path, content: bytes) -> None:
    Secrets(tmp_path)
    (tmp_path / "secret").write_bytes(content)
    with pytest.raises(errors.StorageDamaged, match="secret is damaged"):
        Secrets(tmp_path)


def test_an_empty_secret_is_created_again(tmp_path: Path) -> None:
    Secrets(tmp_path)
    (tmp_path / "token").write_text("")
    Secrets(tmp_path)
    assert (tmp_path / "token").read_text().startswith("mst_person_")


def test_exposed_secrets_are_replaced_once(tmp_path: Path) -> None:
    before = Secrets(tmp_path).session_token("ses_a")
    (tmp_path / private_home.EXPOSED_MARK).touch()
    exposed = Secrets(tmp_path)
    assert exposed.were_exposed and exposed.session_token("ses_a") != before
    exposed.forget_exposure()
    later = Secrets(tmp_path)
    assert not later.were_exposed and later.session_token("ses_a") == exposed.session_token("ses_a")
