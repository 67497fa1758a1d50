"""Git settings that name a program are found, and neutral settings switch the programs off."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.domain import git_programs
from maestro.domain.git_config import GitSetting, parse_settings


def test_settings_that_name_programs_are_found_and_switched_off() -> None:
    text = (
        '[filter "x"]\nclean = p\n[merge "y"]\ndriver = q\nname = n\n[diff]\nalgorithm = z\n[core]\nsshCommand = s\n'
    )
    found = git_programs.program_settings(parse_settings(text))
    assert [setting.key for setting in found] == ["filter.x.clean", "merge.y.driver", "core.sshcommand"]
    neutral = git_programs.neutral_settings(found)
    assert "filter.x.clean=" in neutral and "core.sshCommand=ssh" in neutral
    assert any(text.startswith("merge.y.driver=git merge-file") for text in neutral)


@pytest.mark.parametrize("name", ["a=b", "a\\nb"])
def test_a_program_that_git_cannot_switch_off_is_refused(name: str) -> None:
    settings = [GitSetting(f"filter.{name.encode().decode('unicode_escape')}.clean", "p")]
    with pytest.raises(Invalid, match="cannot switch off") as refused:
        git_programs.neutral_settings(settings)
    assert "Remove the section" in refused.value.hint


@pytest.mark.parametrize(
    ("key", "names_program"),
    [
        ("filter.x.smudge", True),
        ("filter.x.process", True),
        ("filter.x.required", False),
        ("filter.clean", False),  # git ignores a filter without a name
        ("diff.x.textconv", True),
        ("diff.x.command", True),
        ("hook.x.command", True),
        ("hook.x.event", False),
        ("lfs.standalonetransferagent", True),
        ("lfs.customtransfer.x.path", True),
        ("lfs.url", False),
        ("credential.helper", True),
        ("credential.https://example.org.helper", True),
        ("credential.usehttppath", False),
        ("core.sshcommand", True),
        ("core.autocrlf", False),
        ("remote.origin.url", False),
    ],
)
def test_only_some_keys_name_a_program(key: str, names_program: bool) -> None:
    setting = GitSetting(key, "p")
    assert git_programs.program_settings([setting]) == ([setting] if names_program else [])


@pytest.mark.parametrize("value", ["", None])
def test_a_setting_without_a_value_names_no_program(value: str | None) -> None:
    assert git_programs.program_settings([GitSetting("filter.x.clean", value)]) == []


@pytest.mark.parametrize(
    ("key", "neutral"),
    [
        ("lfs.clean", "filter.lfs.process="),
        ("lfs.clean", "filter.lfs.required=false"),
        ("filter.x.process", "filter.x.required=false"),
        ("credential.https://example.org.helper", "credential.helper="),
        ("hook.x.command", "hook.x.enabled=false"),
    ],
)
def test_each_kind_of_program_is_switched_off_by_its_neutral_settings(key: str, neutral: str) -> None:
    assert neutral in git_programs.neutral_settings([GitSetting(key, "p")])


def test_a_diff_program_needs_no_neutral_setting() -> None:
    assert git_programs.neutral_settings([GitSetting("diff.x.textconv", "p")]) == ()


def test_two_settings_of_the_same_filter_give_each_neutral_setting_once() -> None:
    settings = [GitSetting("filter.x.clean", "p"), GitSetting("filter.x.smudge", "q")]
    neutral = git_programs.neutral_settings(settings)
    assert len(neutral) == len(set(neutral)) == 4


def test_settings_with_another_key_or_value_have_another_fingerprint() -> None:
    settings = [
        GitSetting("filter.x.clean", "a"),
        GitSetting("filter.x.clean", "b"),
        GitSetting("filter.y.clean", "a"),
    ]
    assert len({git_programs.fingerprint_setting(setting) for setting in settings}) == 3


def test_a_fingerprint_does_not_show_the_setting() -> None:
    assert "secret" not in git_programs.fingerprint_setting(GitSetting("credential.helper", "secret"))
    assert git_programs.fingerprint_setting(
        GitSetting("credential.helper", "\udcff")
    )  # a byte that is not valid UTF-8
