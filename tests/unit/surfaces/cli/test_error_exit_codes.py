"""Every error has a documented exit code."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.surfaces.cli import error_exit_codes

EXPECTED = {
    errors.Invalid: 2,
    errors.TooLarge: 2,
    errors.TimedOut: 3,
    errors.NotAuthenticated: 4,
    errors.NotPermitted: 4,
    errors.Conflict: 5,
    errors.IllegalMove: 5,
    errors.NotReady: 5,
    errors.ClaimLost: 5,
    errors.AlreadyHeld: 5,
    errors.NotHeld: 5,
    errors.Cycle: 5,
    errors.Ambiguous: 5,
    errors.NameTaken: 5,
    errors.LimitReached: 5,
    errors.TooFast: 5,
    errors.Looping: 5,
    errors.KeyReused: 5,
    errors.NotFound: 6,
    errors.NotConfirmed: 7,
    errors.NoServer: 8,
}


@pytest.mark.parametrize("kind", errors.errors_by_code().values())
def test_every_error_has_its_documented_exit_code(kind: type[errors.MaestroError]) -> None:
    assert error_exit_codes.exit_code_of(kind) == EXPECTED.get(kind, 1)
    assert error_exit_codes.exit_code_of(kind) in error_exit_codes.MEANINGS
