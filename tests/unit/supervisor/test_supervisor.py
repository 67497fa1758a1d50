"""Each data directory gives its supervisor a process name that fits the system's limit and can be recognised."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.supervisor import is_supervisor_name, supervisor_process_name

SYSTEM_CHARS_MAX = 15  # Linux cuts longer process names


def test_a_supervisor_name_is_recognised_and_fits_into_the_limit_of_the_system(tmp_path: Path) -> None:
    for number in range(50):
        name = supervisor_process_name(str(tmp_path / str(number)))
        assert len(name) == SYSTEM_CHARS_MAX and is_supervisor_name(name)


def test_the_supervisor_name_depends_on_the_real_path_of_the_data_directory(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    name = supervisor_process_name(str(tmp_path / "data"))
    assert supervisor_process_name(str(tmp_path / "link")) == name
    assert supervisor_process_name(str(tmp_path / "other")) != name


@pytest.mark.parametrize(
    "name", ["", "bash", "maestro-", "maestro-012345", "maestro-01234567", "maestro-012345G", "xmaestro-0123456"]
)
def test_other_names_are_not_names_of_a_supervisor(name: str) -> None:
    assert not is_supervisor_name(name)
