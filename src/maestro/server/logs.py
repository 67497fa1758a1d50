"""Configure the server's log: one line for each entry, without tokens."""

from __future__ import annotations

import logging
import sys

from maestro.text import redaction

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class _RedactingFormatter(logging.Formatter):
    """A formatter that hides tokens in entries and in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return redaction.hide_tokens(super().format(record))


def configure_logging() -> None:
    """Write the log to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_RedactingFormatter(_FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
