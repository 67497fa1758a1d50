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
import stat
from pathlib import Path
from typing import TextIO

from maestro.core import errors
from maestro.store.layout import SECRET, TOKEN
from maestro.system import private_home, small_files

_CHARS_MIN = 32  # a shorter secret was cut off
_REPLACE = f"Replace it: {private_home.FIX}"


def _load(file: Path, fresh: str) -> str:
    """Return the content of a secret's file; write the file first if there is none."""
    return _read(file) or _write(file, fresh)


def _read(file: Path) -> str:
    """Return a secret's content, empty without a file; refuse a file that others could have read or made."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise errors.StorageExposed(f"{file} cannot be opened: {error.strerror}.", hint=_REPLACE) from error
    with os.fdopen(descriptor, encoding="utf-8") as opened:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & private_home.OTHERS:
            raise errors.StorageExposed(f"{file} is open to other users.", hint=_REPLACE)
        return _require_whole(file, opened)


def _require_whole(file: Path, opened: TextIO) -> str:
    """Return a secret's content; refuse a damaged one. An empty file counts as none."""
    try:
        content = opened.read().strip()
    except UnicodeDecodeError:
        content = "?"
    if content and len(content) < _CHARS_MIN:
        raise errors.StorageDamaged(f"{file} is damaged.", hint=f"Restore it, or remove it. {_REPLACE}")
    return content


def _write(file: Path, fresh: str) -> str:
    """Write a secret whole, for its owner only, under a name that nobody can have taken before."""
    part = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(fresh + "\n")
        out.flush()
        os.fsync(out.fileno())
    part.rename(file)
    small_files.flush_folder(file.parent)
    return fresh


class Secrets:
    """The person's token, and tokens for sessions."""

    def __init__(self, home: Path) -> None:
        self._mark = home / private_home.EXPOSED_MARK
        self.were_exposed = os.path.lexists(self._mark)
        if self.were_exposed:
            for name in (TOKEN, SECRET):
                (home / name).unlink(missing_ok=True)
        self._person = _load(home / TOKEN, "mst_person_" + secrets.token_urlsafe(32))
        self._key = _load(home / SECRET, secrets.token_hex(32)).encode()

    def forget_exposure(self) -> None:
        """Remove the mark of exposed secrets. The caller has voided the tokens made from them."""
        self._mark.unlink(missing_ok=True)

    def is_person(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._person.encode())

    def session_token(self, session_id: str) -> str:
        """The token of one session; without the key nobody can make it."""
        digest = hmac.new(self._key, session_id.encode(), hashlib.sha256).digest()
        return "mst_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def runner_secret(self, session_id: str, epoch: int) -> str:
        """Return the secret of the runner of one start of a session. The agent's environment does not hold it."""
        return self.mark(f"runner {session_id} {epoch}")

    def mark(self, text: str) -> str:
        """A mark on a text that nobody else can make."""
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:32]
