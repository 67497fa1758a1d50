"""Random, cut and joined frames, as a broken client could send them to the Unix socket."""

from __future__ import annotations

import random

from maestro.wire import frames

FRAME_BYTES_MAX = 1 << 20
WORDS = (
    ["status"], ["whoami", "--json"], ["task", "list"], ["task", "show", "#1"], ["mail", "check"], ["help"], ["__mcp"],
    ["hook", "claude", "Stop"], ["mail", "send", "mailbox", "--subject", "s", "--file", "-"], ["nonsense"], [], [""],
    ["task", "report", "#1", "--attach", "/etc/hostname"], ["task", "list", "--limit", "9" * 400], ["x" * 60_000],
)  # fmt: skip


def random_frames(chosen: random.Random, token: str) -> bytes:
    """Return the bytes of a connection: a valid or invalid request and further frames, complete or cut off."""
    frames = [_request(chosen, token) if chosen.random() < 0.8 else _frame(chosen)]
    frames += [_frame(chosen) for _ in range(chosen.randint(0, 4))]
    if chosen.random() < 0.2:
        chosen.shuffle(frames)
    data = b"".join(frames)
    return data[: chosen.randrange(len(data) + 1)] if chosen.random() < 0.3 else data


def _request(chosen: random.Random, token: str) -> bytes:
    head = [frames.PROTOCOL.encode(), b"python", b"0", b"000", b"0", b"/", b"MAESTRO_TOKEN=" + token.encode()]
    odd = (
        b"",
        b"\xff",
        b"9" * 30,
        b"-1",
        b"=",
        b"MAESTRO_TOKEN=",
        b"COLUMNS=x",
        b"/nowhere",
        b"x" * 10_000,
        b"LANG=\xff",
    )
    for _ in range(chosen.choice((0, 0, 1, 3))):
        head[chosen.randrange(len(head))] = chosen.choice(odd)
    words = [word.encode() for word in chosen.choice(WORDS)]
    if chosen.random() < 0.2:
        words.append(chosen.randbytes(20).replace(b"\0", b""))
    payload = bytearray(b"\0".join(head) + b"\0\0" + b"".join(word + b"\0" for word in words))
    for _ in range(chosen.choice((0, 0, 1, 5))):
        payload[chosen.randrange(len(payload))] = chosen.choice((0, 255, chosen.randrange(256)))
    return frames.pack_frame(b"R", bytes(payload))


def _frame(chosen: random.Random) -> bytes:
    kind = chosen.choice([*b"RDNCRDNC", chosen.randrange(256)])
    payload = chosen.choice((b"", b"\0" * 50, b"{}", b"\xff" * 300, chosen.randbytes(200), b"x" * 70_000))
    lengths = [len(payload)] * 8 + [0, 1, FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1, (1 << 32) - 1]
    return bytes([kind]) + chosen.choice(lengths).to_bytes(4, "big") + payload
