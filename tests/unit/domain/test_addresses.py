"""Each form of a recipient's address is recognised, and any other text is refused."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.domain.addresses import AddressKind, parse_address

# Fixed ids: pytest names the tests after these ids, and all pytest workers must collect the same names.
SESSION, MEMBER, PROJECT, WORKSPACE, TASK, MESSAGE = (
    f"{prefix}_0000000000f8saw4gdqhdjytnj" for prefix in ("ses", "mem", "prj", "wsp", "tsk", "msg")
)


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        (SESSION, AddressKind.SESSION, SESSION),
        (f"session:{SESSION}", AddressKind.SESSION, SESSION),
        ("session:parser", AddressKind.SESSION, "parser"),
        ("dave/vc", AddressKind.AGENT, "dave/vc"),
        ("agent:dave/vc", AddressKind.AGENT, "dave/vc"),
        (WORKSPACE, AddressKind.AGENT, WORKSPACE),
        ("project:vc", AddressKind.PROJECT, "vc"),
        ("github.com/acme/vc", AddressKind.PROJECT, "github.com/acme/vc"),
        ("project:github.com/acme/vc", AddressKind.PROJECT, "github.com/acme/vc"),
        ("git.example.org:2222/acme/vc", AddressKind.PROJECT, "git.example.org:2222/acme/vc"),
        (PROJECT, AddressKind.PROJECT, PROJECT),
        ("@ada", AddressKind.MEMBER, "ada"),
        ("member:ada", AddressKind.MEMBER, "ada"),
        ("member:@ada", AddressKind.MEMBER, "ada"),
        (MEMBER, AddressKind.MEMBER, MEMBER),
        ("vc#12", AddressKind.TASK, "vc#12"),
        ("#12", AddressKind.TASK, "#12"),
        ("task:vc#12", AddressKind.TASK, "vc#12"),
        ("github.com/acme/vc#12", AddressKind.TASK, "github.com/acme/vc#12"),
        (TASK, AddressKind.TASK, TASK),
        ("coordinator", AddressKind.COORDINATOR, ""),
        ("Human", AddressKind.HUMAN, ""),
        ("vc", AddressKind.BARE_NAME, "vc"),
        ("a.b-c_d9", AddressKind.BARE_NAME, "a.b-c_d9"),
    ],
)
def test_each_form_of_an_address_gives_its_kind_and_name(text: str, kind: AddressKind, name: str) -> None:
    found = parse_address(f"  {text} ")
    assert (found.kind, found.name, found.text) == (kind, name, text)


def test_an_id_of_an_object_without_a_mailbox_is_read_as_a_bare_name() -> None:
    assert parse_address(MESSAGE).kind is AddressKind.BARE_NAME


@pytest.mark.parametrize(
    "text",
    ["", " ", "@", "@a b", "a b", "vc#", "vc#x", "a/", "/a", "a//b", "-x", "vc #12", "vc#1 2", "x\ny", "séance"],
)
def test_a_text_that_is_not_an_address_is_refused_with_a_hint_about_the_forms(text: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        parse_address(text)
    assert "@member" in refused.value.hint and "coordinator" in refused.value.hint
