"""Generated files are what the generator writes now. `make docs` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro.docs.generate import generated_files

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(generated_files()))
def test_a_generated_file_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text() == generated_files()[name], "run `make docs`"
