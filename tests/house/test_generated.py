"""Tests that each generated file has the content that the generator writes. `make docs` writes the files again."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.docs.generate import generated_files

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(generated_files()))
def test_a_generated_file_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text() == generated_files()[name], "run `make docs`"
