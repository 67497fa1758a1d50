"""`hide_tokens` replaces tokens in every field of a request."""

import msgspec

from maestro.services.redacting import hide_tokens
from maestro.text.redaction import HIDDEN_TOKEN

TOKEN = "mst_" + "x" * 43


class Part(msgspec.Struct, frozen=True):
    name: str
    data: bytes = b""


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    title: str = ""
    number: int = 0
    names: list[str] = []
    parts: list[Part] = []
    part: Part | None = None
    facts: dict[str, str] = {}


def test_a_request_without_tokens_stays_the_same_object() -> None:
    whole = Whole(title="mst", names=["a"], parts=[Part("b", b"c")], part=Part("d"), facts={"e": "f"})
    assert hide_tokens(whole) is whole
    assert hide_tokens(Part("x")) is not None


def test_tokens_are_hidden_in_every_kind_of_field() -> None:
    data = f"a {TOKEN}".encode()
    for given, hidden in (
        (Whole(title=TOKEN, number=3), Whole(title=HIDDEN_TOKEN, number=3)),
        (Whole(names=["a", TOKEN]), Whole(names=["a", HIDDEN_TOKEN])),
        (Whole(parts=[Part("b", data)]), Whole(parts=[Part("b", f"a {HIDDEN_TOKEN}".encode())])),
        (Whole(part=Part(TOKEN)), Whole(part=Part(HIDDEN_TOKEN))),
        (Whole(facts={"e": TOKEN}), Whole(facts={"e": HIDDEN_TOKEN})),
    ):
        assert hide_tokens(given) == hidden


def test_binary_data_is_not_changed() -> None:
    part = Part("b", b"\xff\x00" + TOKEN.encode())
    assert hide_tokens(part) == part
