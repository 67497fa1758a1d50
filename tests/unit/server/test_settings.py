"""Settings: defaults, changes, and files that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.core import errors
from maestro.server import settings
from maestro.server.secrets import Secrets
from maestro.server.settings import ServerSettings


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    assert settings.load_settings(tmp_path) == ServerSettings()
    assert settings.human_name(ServerSettings())


def test_a_change_is_written_and_read_back(tmp_path: Path) -> None:
    settings.change_setting(tmp_path, "human", 'Dana "the" O\\Neil ✓')
    settings.change_setting(tmp_path, "events_days", "7")
    assert settings.load_settings(tmp_path) == ServerSettings(human='Dana "the" O\\Neil ✓', events_days=7)
    assert "port" not in (tmp_path / "config.toml").read_text()


@pytest.mark.parametrize(("name", "value"), [("events_days", "-1"), ("port", "many"), ("port", "70000")])
def test_a_wrong_value_changes_nothing(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(errors.Invalid):
        settings.change_setting(tmp_path, name, value)
    assert settings.load_settings(tmp_path) == ServerSettings()


def test_an_unknown_setting_is_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound, match="no setting"):
        settings.change_setting(tmp_path, "colour", "red")


@pytest.mark.parametrize("text", ["port = ", "colour = 1", "port = 'x'", "\x00"])
def test_a_file_that_is_wrong_is_said_to_be(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(errors.Invalid, match=r"config\.toml"):
        settings.load_settings(tmp_path)


def test_secrets_are_made_once_and_for_their_owner_only(tmp_path: Path) -> None:
    first, second = Secrets(tmp_path), Secrets(tmp_path)
    assert first.session_token("ses_a") == second.session_token("ses_a") != first.session_token("ses_b")
    token = (tmp_path / "token").read_text().strip()
    assert second.is_person_token(token) and not second.is_person_token(token + "x")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("token", "secret")} == {0o600}
