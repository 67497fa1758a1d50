"""The secrets of a data directory: the person's token, and the key from which session tokens are derived.

Both are files that only their owner can read. The store keeps only hashes of tokens. A session's token is derived
from the session's id, so a repeated registration answers with the same token.
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

_CHARS_MIN = 32  # a shorter secret is damaged
_REPLACE_HINT = f"Replace it: {private_home.FIX_COMMAND}"


def _load_secret(file: Path, fresh: str) -> str:
    """Return the content of a secret's file; write the fresh secret if the file is missing."""
    return _read_secret(file) or _write_secret(file, fresh)


def _read_secret(file: Path) -> str:
    """Return a secret's content, empty without a file; refuse a file that other users could have read or written."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise errors.StorageExposed(f"{file} cannot be opened: {error.strerror}.", hint=_REPLACE_HINT) from error
    with os.fdopen(descriptor, encoding="utf-8") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & private_home.OTHERS:
            raise errors.StorageExposed(f"{file} is open to other users.", hint=_REPLACE_HINT)
        return _require_undamaged(file, opened)


def _require_undamaged(file: Path, opened: TextIO) -> str:
    """Return a secret's content; refuse a damaged secret. An empty file counts as missing."""
    try:
        content = opened.read().strip()
    except UnicodeDecodeError:
        content = "?"
    if content and len(content) < _CHARS_MIN:
        raise errors.StorageDamaged(f"{file} is damaged.", hint=f"Restore the file, or remove it. {_REPLACE_HINT}")
    return content


def _write_secret(file: Path, fresh: str) -> str:
    """Write a secret's file in one step, for its owner only. Another user cannot guess the temporary name."""
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
    """The person's token, the tokens of sessions and the secrets of runners."""

    def __init__(self, home: Path) -> None:
        self._exposure_mark = home / private_home.EXPOSED_MARK
        self.were_exposed = os.path.lexists(self._exposure_mark)
        if self.were_exposed:
            for name in (TOKEN, SECRET):
                (home / name).unlink(missing_ok=True)
        self._person = _load_secret(home / TOKEN, "mst_person_" + secrets.token_urlsafe(32))
        self._key = _load_secret(home / SECRET, secrets.token_hex(32)).encode()

    def forget_exposure(self) -> None:
        """Remove the mark of exposed secrets. The caller has replaced the tokens before."""
        self._exposure_mark.unlink(missing_ok=True)

    def is_person_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._person.encode())

    def session_token(self, session_id: str) -> str:
        """Return the token of a session. Only the key of this data directory gives the token."""
        digest = hmac.new(self._key, session_id.encode(), hashlib.sha256).digest()
        return "mst_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def runner_secret(self, session_id: str, epoch: int) -> str:
        """Return the secret of a session's runner for one epoch. The agent's environment does not hold the secret."""
        return self.sign_text(f"runner {session_id} {epoch}")

    def sign_text(self, text: str) -> str:
        """Return a signature of a text. Only the key of this data directory gives the signature."""
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:32]
