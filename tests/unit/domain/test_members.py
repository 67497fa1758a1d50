"""Names and rights of members."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.domain.identity import RESERVED_NAMES
from maestro.domain.members import check_rights, normalize_name


def test_names_are_kept_in_lower_case() -> None:
    assert normalize_name("Ada.Lovelace-2") == "ada.lovelace-2"


@pytest.mark.parametrize("name", [*sorted(RESERVED_NAMES), "Human", "TEAM"])
def test_a_reserved_word_is_no_name(name: str) -> None:
    with pytest.raises(Invalid, match="reserved"):
        normalize_name(name)


@pytest.mark.parametrize("prefix", ["mem", "ses", "tea", "prj"])
def test_an_id_is_no_name(prefix: str) -> None:
    with pytest.raises(Invalid, match="looks like an id"):
        normalize_name(f"{prefix}_0000000000000000000000000A")


def test_nothing_is_both_allowed_and_denied() -> None:
    check_rights(allow=["task.create"], deny=["task.cancel"])
    with pytest.raises(Invalid, match=r"task\.create"):
        check_rights(allow=["mail.broadcast", "task.create"], deny=["task.create"])
