"""What a command prints, kept in a file: written beside it first, so that there is never half a page."""

from __future__ import annotations

import os
from pathlib import Path

from maestro.client import thin
from maestro.live.answer import answer


def run(*, file: str, words: list[str]) -> int:
    """Ask the server for it, and write it down."""
    code, out, err = answer(words)
    if code:
        thin.put(2, err)
        return code
    path = Path(file)
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        part.write_bytes(out)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise thin.Ended(thin.FAILED, f"cannot write {file}: {error.strerror}") from None
    thin.put(1, os.fsencode(f"{path.absolute()}\n"))
    return 0
