"""The body and the attachments of a message, stored before the transaction that posts the message."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from maestro.domain.documents import StoredContent


class EnclosedContents(msgspec.Struct, frozen=True):
    """A body and attachments that were stored as blobs before the transaction began."""

    body: StoredContent
    files: Sequence[tuple[str, StoredContent]] = ()
