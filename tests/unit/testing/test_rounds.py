"""The environment sets the number of rounds and the seed of a round test, and the test prints one line of results."""

from __future__ import annotations

import pytest

from maestro.testing import rounds


@pytest.mark.parametrize(("asked", "expected"), [("", 5), ("full", 50), ("7", 7)])
def test_the_environment_sets_the_number_of_rounds(
    asked: str, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(rounds.COUNT, asked)
    assert rounds.round_count(5, full=50) == expected
    assert rounds.is_long_run() == bool(asked)


def test_the_environment_sets_the_seed_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(rounds.SEED, "123")
    assert rounds.round_seed() == 123


def test_a_round_test_prints_one_line_with_its_counts_and_its_seed(capsys: pytest.CaptureFixture[str]) -> None:
    line = rounds.report_rounds("kills", 50, lost=0, twice=0, seed=123)
    assert line == "rounds: kills: 50 rounds, 0 lost, 0 twice, seed 123"
    assert capsys.readouterr().out == f"\n{line}\n"
