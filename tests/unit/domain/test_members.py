"""Names of members are normalised and checked, and rights of members must not contradict each other."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.domain.identity import RESERVED_NAMES
from maestro.domain.members import check_rights, normalize_name


def test_the_name_of_a_member_is_stored_in_lower_case() -> None:
    assert normalize_name("Ada.Lovelace-2") == "ada.lovelace-2"


@pytest.mark.parametrize("name", [*sorted(RESERVED_NAMES), "Human", "TEAM"])
def test_a_reserved_word_is_refused_as_the_name_of_a_member(name: str) -> None:
    with pytest.raises(Invalid, match="reserved"):
        normalize_name(name)


@pytest.mark.parametrize("prefix", ["mem", "ses", "tea", "prj"])
def test_an_id_is_refused_as_the_name_of_a_member(prefix: str) -> None:
    with pytest.raises(Invalid, match="looks like an id"):
        normalize_name(f"{prefix}_0000000000000000000000000A")


def test_an_operation_that_is_both_allowed_and_denied_is_refused() -> None:
    check_rights(allow=["task.create"], deny=["task.cancel"])
    with pytest.raises(Invalid, match=r"task\.create"):
        check_rights(allow=["mail.broadcast", "task.create"], deny=["task.create"])
