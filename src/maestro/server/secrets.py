"""Secrets of a data directory: the person's token, and the key from which sessions' tokens are made.

Both are files that only their owner can read. The store keeps hashes, never tokens: a session's token can be made
again from its id, so that a repeated registration answers with the same one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from pathlib import Path

from maestro.store.layout import SECRET, TOKEN


def _load(file: Path, fresh: str) -> str:
    """The file's content, written first if it is not there: whole, and for its owner's eyes only."""
    if not file.exists():
        part = file.with_name(f".{file.name}.{os.getpid()}")
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as out:
            out.write(fresh + "\n")
            out.flush()
            os.fsync(out.fileno())
        part.rename(file)
    return file.read_text().strip()


class Secrets:
    """The person's token, and tokens for sessions."""

    def __init__(self, home: Path) -> None:
        self._person = _load(home / TOKEN, "mst_person_" + secrets.token_urlsafe(32))
        self._key = _load(home / SECRET, secrets.token_hex(32)).encode()

    def is_person(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._person.encode())

    def session_token(self, session_id: str) -> str:
        """The token of one session; without the key nobody can make it."""
        digest = hmac.new(self._key, session_id.encode(), hashlib.sha256).digest()
        return "mst_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def mark(self, text: str) -> str:
        """A mark on a text that nobody else can make."""
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:32]
