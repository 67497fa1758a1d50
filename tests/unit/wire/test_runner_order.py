"""An order reaches the runner as JSON with every field; an order with unknown fields is refused."""

from __future__ import annotations

import dataclasses
import json

import pytest

from maestro.wire.runner_order import RunnerOrder, decode_order, order_fields

ORDER = RunnerOrder(
    session_id="ses_1",
    token="mst_x",
    socket="/run/maestro.sock",
    folder="/data/sessions/ses_1",
    arguments=["sh", "-c", "echo 'ä'"],
    directory="/src",
    environment={"PATH": "/bin"},
)


def test_an_order_with_defaults_is_decoded_unchanged() -> None:
    assert decode_order(json.dumps(order_fields(ORDER)).encode()) == ORDER


def test_every_field_of_an_order_is_sent() -> None:
    full = dataclasses.replace(
        ORDER,
        secret="s",
        epoch=3,
        terminal=False,
        input="question",
        conversation="claude",
        opening={"model": "best", "skills": ["a"]},
        inbox={"path": "/inbox"},
        interrupt="\x1b",
        socket_path="/tmp/s",
        terminal_client=["codex", "resume"],
        umask=0o022,
        stop_seconds=0.5,
    )
    assert set(order_fields(full)) == {field.name for field in dataclasses.fields(RunnerOrder)}
    assert decode_order(json.dumps(order_fields(full)).encode()) == full


def test_an_order_without_optional_fields_gets_their_defaults() -> None:
    needed = ["session_id", "token", "socket", "folder", "arguments", "directory", "environment"]
    fields = order_fields(ORDER)
    assert decode_order(json.dumps({name: fields[name] for name in needed}).encode()) == ORDER


@pytest.mark.parametrize("change", [{"unknown": 1}, {"token": None}], ids=["an unknown field", "a missing field"])
def test_an_order_with_an_unknown_field_or_without_a_needed_field_is_refused(change: dict[str, object]) -> None:
    fields = {
        name: value
        for name, value in {**order_fields(ORDER), **change}.items()
        if value is not None or name != "token"
    }
    with pytest.raises(TypeError):
        decode_order(json.dumps(fields).encode())
