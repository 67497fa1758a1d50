"""An encoded manifest is decoded unchanged, and invalid data is refused."""

from __future__ import annotations

import msgspec
import pytest

from maestro.core.errors import Invalid
from maestro.domain import manifests
from maestro.domain.sessions import SessionMode
from maestro.testing.manifests import make_manifest


@pytest.mark.parametrize("mode", list(SessionMode))
def test_an_encoded_manifest_is_decoded_unchanged(mode: SessionMode) -> None:
    manifest = make_manifest(mode)
    assert manifests.decode_manifest(manifests.encode_manifest(manifest)) == manifest


def test_a_manifest_of_another_version_is_refused_before_its_fields_are_read() -> None:
    with pytest.raises(Invalid, match="version 2"):
        manifests.decode_manifest(b'{"version": 2, "session": "unlike any before"}')


@pytest.mark.parametrize("data", [b"", b"[]", b'{"version": 1}', b"\xff"])
def test_data_that_is_not_a_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(Invalid, match="not a manifest"):
        manifests.decode_manifest(data)


def test_the_fields_of_a_manifest_cannot_be_changed() -> None:
    manifest = make_manifest()
    with pytest.raises(AttributeError):
        manifest.human = "mallory"  # type: ignore[misc]
    hash(msgspec.structs.replace(manifest, human="dana"))
