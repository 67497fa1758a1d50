"""Names and rights of members."""

from __future__ import annotations

import pytest

from maestro.core.errors import Invalid
from maestro.domain.identity import RESERVED
from maestro.domain.members import check_rights, name_of


def test_names_are_kept_in_lower_case() -> None:
    assert name_of("Ada.Lovelace-2") == "ada.lovelace-2"


@pytest.mark.parametrize("name", [*sorted(RESERVED), "Human", "TEAM"])
def test_a_reserved_word_is_no_name(name: str) -> None:
    with pytest.raises(Invalid, match="reserved"):
        name_of(name)


@pytest.mark.parametrize("prefix", ["mem", "ses", "tea", "prj"])
def test_an_id_is_no_name(prefix: str) -> None:
    with pytest.raises(Invalid, match="looks like an id"):
        name_of(f"{prefix}_0000000000000000000000000A")


def test_nothing_is_both_allowed_and_denied() -> None:
    check_rights(allow=["task.create"], deny=["task.cancel"])
    with pytest.raises(Invalid, match=r"task\.create"):
        check_rights(allow=["mail.broadcast", "task.create"], deny=["task.create"])
