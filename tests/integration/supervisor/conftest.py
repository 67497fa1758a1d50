"""Provide a data directory whose server the person's own command starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from maestro.testing.homes import Home, open_home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with open_home(tmp_path / "data") as made:
        yield made
