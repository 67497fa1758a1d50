"""The file of a late hook keeps its time, token and payload; a file of another form is refused."""

from __future__ import annotations

import pytest

from maestro.wire import late_hook


@pytest.mark.parametrize("payload", [b"", b"{}", b"a\nb\n", b"\xff\x00"])
def test_a_packed_late_hook_is_unpacked_unchanged(payload: bytes) -> None:
    assert late_hook.unpack_hook(late_hook.pack_hook(17, "mst_x", payload)) == (17, "mst_x", payload)


@pytest.mark.parametrize(
    "content", [b"", b"maestro-hook/1\n1\n", b"maestro-hook/2\n1\nt\n{}", b"maestro-hook/1\nx\nt\n{}"]
)
def test_a_late_hook_file_of_another_form_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError):
        late_hook.unpack_hook(content)
