"""Search messages by their words. Messages are indexed after the send, so that no sender waits for the index.

A search first indexes the messages that are missing.
"""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import datetime

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller, Role
from maestro.domain.documents import StoredContent
from maestro.domain.visibility import may_read
from maestro.operations import mail_shapes as ops
from maestro.services import cursors
from maestro.services.access.scope import find_project
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.repositories.mail import SearchText

log = logging.getLogger(__name__)
_SEARCH_TERM = re.compile(r'"([^"]*)"|(\S+)')


class MailSearch:
    """The full-text index of messages: a background job that fills the index, and the search operation."""

    name = "search-index"

    def __init__(self, store: Store, blobs: Blobs, *, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._indexing = asyncio.Lock()
        self._newest_seen = 0  # sequence number of the newest message at the last run of the job

    async def run_once(self) -> datetime | None:
        """Index new messages once senders pause or many messages wait, and return the time of the next run.

        Sending has priority over indexing. A search that comes earlier indexes the waiting messages itself.
        """
        indexed_to, newest = await self._store.read(lambda tx: tx.mail.search_state(), quick=True)
        if newest == indexed_to:
            return None
        if newest != self._newest_seen and newest - indexed_to < limits.search_unindexed_messages_max:
            self._newest_seen = newest
            # The pause is inside the run, because otherwise every message would start a run.
            await asyncio.sleep(limits.search_index_seconds)
        else:
            await self._index_batch()
        return self._clock.now()

    async def search_mail(self, caller: Caller, request: ops.SearchMail) -> ops.MessageList:
        """Index all waiting messages, and return the messages that match the query, newest first."""
        while await self._index_batch():
            pass
        return await self._store.read(lambda tx: _find_messages(tx, caller, request))

    async def _index_batch(self) -> bool:
        """Index a batch of messages, and return whether more messages wait."""
        async with self._indexing:
            batch_size = limits.search_index_rows_max
            entries = await self._store.read(
                lambda tx: tx.mail.list_unindexed(after=tx.mail.search_state().indexed_to, limit=batch_size)
            )
            if entries:
                with_bodies = await asyncio.to_thread(lambda: [(entry, self.read_body(entry)) for entry in entries])
                await self._store.write(lambda tx: tx.mail.add_to_search_index(with_bodies))
            return len(entries) == batch_size

    def read_body(self, entry: SearchText) -> str:
        """Return the whole body of a message, from its row or from its blob file."""
        if entry.blob is None:
            return entry.body or ""
        try:
            return self._blobs.load_content(StoredContent(None, entry.blob, 0, entry.blob)).decode()
        except errors.StorageDamaged as problem:  # a single damaged file must not break every search
            log.warning("message %d is not searchable: %s", entry.seq, problem)
            return ""


def _find_messages(tx: Tx, caller: Caller, request: ops.SearchMail) -> ops.MessageList:
    query = _fts_query(request.query)
    if caller.role is not Role.PERSON or not request.everywhere:
        if request.everywhere:
            raise errors.NotPermitted(
                "A session may search only the mail of its own project.", hint="Search without --everywhere."
            )
        project = find_project(tx, caller, request.project)
        if not may_read(caller, project.id):
            raise errors.NotPermitted(
                f"A session may search only the mail of its own project, not of {project.name}.",
                hint="Search without --project.",
            )
        query = f'scope : "{project.id}" AND ({query})'
    before = cursors.parse_newest_first_cursor(request.cursor)
    messages = tx.mail.search_messages(query, before=before, limit=request.limit + 1)
    next_cursor = str(messages[request.limit - 1].seq) if len(messages) > request.limit else None
    return ops.MessageList(messages=messages[: request.limit], cursor=next_cursor)


def _fts_query(text: str) -> str:
    """Return an FTS5 query for a search text. Every term is quoted, so that typed text never acts as an operator."""
    terms = []
    for phrase, word in _SEARCH_TERM.findall(text)[: limits.search_terms_max]:
        term = phrase or word
        search_text = term.rstrip("*") if word else term
        if any(char.isalnum() for char in search_text):
            quoted = search_text.replace('"', '""')
            terms.append(f'"{quoted}"' + ("*" if word.endswith("*") else ""))
    if not terms:
        raise errors.Invalid(
            f"The search text {text!r} has no word.", hint="Search for at least one letter or digit."
        )
    return f"{{subject body}} : ({' AND '.join(terms)})"
