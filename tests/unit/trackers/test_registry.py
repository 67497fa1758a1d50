"""The registry returns the external trackers with their program, folder and agent variables."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.domain.trackers import TrackerKind
from maestro.trackers.base import TrackerUnreachable
from maestro.trackers.registry import agent_environment, external_tracker, tracker_folders


async def test_the_program_of_the_settings_replaces_the_default_program(tmp_path: Path) -> None:
    (tmp_path / ".beads").mkdir()
    configured = external_tracker(
        TrackerKind.BEADS, str(tmp_path), programs={TrackerKind.BEADS: "/no/such/bd"}, seconds_max=5
    )
    with pytest.raises(TrackerUnreachable, match="/no/such/bd cannot be started"):
        await configured.read_version()


@pytest.mark.parametrize("programs", [{}, {TrackerKind.BEADS: ""}])
async def test_the_default_program_is_bd(
    tmp_path: Path, programs: dict[TrackerKind, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".beads").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    default = external_tracker(TrackerKind.BEADS, str(tmp_path), programs=programs, seconds_max=5)
    assert default.kind is TrackerKind.BEADS
    with pytest.raises(TrackerUnreachable, match=r"^bd cannot be started"):
        await default.read_version()


def test_the_registry_returns_no_external_tracker_for_the_built_in_kind(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        external_tracker(TrackerKind.BUILTIN, str(tmp_path), programs={}, seconds_max=5)


def test_only_external_trackers_have_a_folder_and_agent_variables() -> None:
    assert dict(tracker_folders()) == {TrackerKind.BEADS: ".beads"}
    assert agent_environment(TrackerKind.BUILTIN, name="ada") == {}
    assert "ada" in agent_environment(TrackerKind.BEADS, name="ada").values()
