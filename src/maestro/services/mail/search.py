"""Finding messages by their words. Words are taken in after the send, so that nobody waits for it; a search does."""

from __future__ import annotations

import asyncio
import logging
import re
from datetime import datetime

from maestro.core import errors, limits
from maestro.core.clock import Clock
from maestro.domain.callers import Caller, Role
from maestro.domain.documents import Content
from maestro.domain.sight import may_read
from maestro.operations import mail_shapes as ops
from maestro.services import cursors
from maestro.services.scope import project_of
from maestro.store.base import Store, Tx
from maestro.store.blobs import Blobs
from maestro.store.repositories.mail import Words

log = logging.getLogger(__name__)
_TERM = re.compile(r'"([^"]*)"|(\S+)')


class Search:
    """The index, and questions to it."""

    name = "search-index"

    def __init__(self, store: Store, blobs: Blobs, *, clock: Clock) -> None:
        self._store = store
        self._blobs = blobs
        self._clock = clock
        self._indexing = asyncio.Lock()
        self._seen = 0  # the newest message when upkeep last looked

    async def run_once(self) -> datetime | None:
        """Upkeep: take in what was sent, once senders pause or much has gathered. They come first; a search that
        comes before takes the rest in itself."""
        indexed_to, newest = await self._store.read(lambda tx: tx.mail.search_state(), quick=True)
        if newest == indexed_to:
            return None
        if newest != self._seen and newest - indexed_to < limits.search_behind_max:
            self._seen = newest
            await asyncio.sleep(limits.search_index_seconds)  # here, so that not every message stirs it
        else:
            await self._take_in()
        return self._clock.now()

    async def search(self, caller: Caller, request: ops.SearchMail) -> ops.MessageList:
        while await self._take_in():
            pass
        return await self._store.read(lambda tx: _find(tx, caller, request))

    async def _take_in(self) -> bool:
        """A bounded batch; whether there is more."""
        async with self._indexing:
            many = limits.search_index_rows_max
            found = await self._store.read(lambda tx: tx.mail.unindexed(after=tx.mail.search_state()[0], limit=many))
            if found:
                bodies = await asyncio.to_thread(lambda: [(words, self.body(words)) for words in found])
                await self._store.write(lambda tx: tx.mail.add_words(bodies))
            return len(found) == many

    def body(self, words: Words) -> str:
        """A message's whole text, wherever it lies."""
        if words.blob is None:
            return words.body or ""
        try:
            return self._blobs.load(Content(None, words.blob, 0, words.blob)).decode()
        except errors.StorageDamaged as problem:  # one damaged file must not end the search for everyone
            log.warning("message %d is not searchable: %s", words.seq, problem)
            return ""


def _find(tx: Tx, caller: Caller, request: ops.SearchMail) -> ops.MessageList:
    query = _query(request.query)
    if caller.role is not Role.PERSON or not request.everywhere:
        if request.everywhere:
            raise errors.NotPermitted("A session searches the mail of its own project.")
        project = project_of(tx, caller, request.project)
        if not may_read(caller, project.id):
            raise errors.NotPermitted("A session searches the mail of its own project.")
        query = f'scope : "{project.id}" AND ({query})'
    before = cursors.before(request.cursor)
    found = tx.mail.find(query, before=before, limit=request.limit + 1)
    more = str(found[request.limit - 1].seq) if len(found) > request.limit else None
    return ops.MessageList(messages=found[: request.limit], cursor=more)


def _query(text: str) -> str:
    """Words as the index understands them: each quoted, so that nothing a person types is an operator."""
    terms = []
    for phrase, word in _TERM.findall(text)[: limits.search_terms_max]:
        said = phrase or word
        bare = said.rstrip("*") if word else said
        if any(char.isalnum() for char in bare):
            quoted = bare.replace('"', '""')
            terms.append(f'"{quoted}"' + ("*" if word.endswith("*") else ""))
    if not terms:
        raise errors.Invalid("There is no word to search for.")
    return f"{{subject body}} : ({' AND '.join(terms)})"
