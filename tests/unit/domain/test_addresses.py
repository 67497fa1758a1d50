"""How a recipient is written: every form, and what is refused."""

from __future__ import annotations

import pytest

from maestro.core import errors
from maestro.domain.addresses import Kind, parse

# Always the same ones: tests are named after them, and workers that share them out must agree on the names.
SESSION, MEMBER, PROJECT, WORKSPACE, TASK, MESSAGE = (
    f"{prefix}_0000000000f8saw4gdqhdjytnj" for prefix in ("ses", "mem", "prj", "wsp", "tsk", "msg")
)


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        (SESSION, Kind.SESSION, SESSION),
        (f"session:{SESSION}", Kind.SESSION, SESSION),
        ("session:parser", Kind.SESSION, "parser"),
        ("dave/vc", Kind.AGENT, "dave/vc"),
        ("agent:dave/vc", Kind.AGENT, "dave/vc"),
        (WORKSPACE, Kind.AGENT, WORKSPACE),
        ("project:vc", Kind.PROJECT, "vc"),
        ("github.com/acme/vc", Kind.PROJECT, "github.com/acme/vc"),
        ("project:github.com/acme/vc", Kind.PROJECT, "github.com/acme/vc"),
        ("git.example.org:2222/acme/vc", Kind.PROJECT, "git.example.org:2222/acme/vc"),
        (PROJECT, Kind.PROJECT, PROJECT),
        ("@ada", Kind.MEMBER, "ada"),
        ("member:ada", Kind.MEMBER, "ada"),
        ("member:@ada", Kind.MEMBER, "ada"),
        (MEMBER, Kind.MEMBER, MEMBER),
        ("vc#12", Kind.TASK, "vc#12"),
        ("#12", Kind.TASK, "#12"),
        ("task:vc#12", Kind.TASK, "vc#12"),
        ("github.com/acme/vc#12", Kind.TASK, "github.com/acme/vc#12"),
        (TASK, Kind.TASK, TASK),
        ("coordinator", Kind.COORDINATOR, ""),
        ("Human", Kind.HUMAN, ""),
        ("vc", Kind.WORD, "vc"),
        ("a.b-c_d9", Kind.WORD, "a.b-c_d9"),
    ],
)
def test_a_form(text: str, kind: Kind, name: str) -> None:
    found = parse(f"  {text} ")
    assert (found.kind, found.name, found.text) == (kind, name, text)


def test_an_id_of_something_that_gets_no_mail_is_but_a_word() -> None:
    assert parse(MESSAGE).kind is Kind.WORD


@pytest.mark.parametrize(
    "text",
    ["", " ", "@", "@a b", "a b", "vc#", "vc#x", "a/", "/a", "a//b", "-x", "vc #12", "vc#1 2", "x\ny", "séance"],
)
def test_what_is_no_address_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(errors.Invalid) as refused:
        parse(text)
    assert "@member" in refused.value.hint and "coordinator" in refused.value.hint
