"""Drives a conversation with an agent over its pipes. Which tool it is, the conversation knows; here nobody does."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable
from typing import Any

from maestro.runner.order import Order
from maestro.runner.reports import Reports
from maestro.text import redaction
from maestro.tools.conversation import Conversation, Opening, Prompt
from maestro.tools.happenings import Said, as_report

RAW = "conversation.jsonl"  # what was said, word for word, for whoever looks for a mistake
RAW_OLDER = "conversation-older.jsonl"
_RAW_BYTES_MAX = 4 * 1024 * 1024  # of each of the two


class Talk:
    """What goes on between a runner and its agent, where that speaks a protocol."""

    def __init__(
        self,
        order: Order,
        reports: Reports,
        *,
        show: Callable[[bytes], None],
        write: Callable[[bytes], None],
        join: Callable[[str], None] = lambda conversation: None,
    ) -> None:
        found = importlib.import_module(f"maestro.tools.{order.conversation}.conversation")
        self._conversation: Conversation = found.TALK(Opening(**order.opening))
        self._reports = reports
        self._show = show
        self._write = write
        self._join = join  # others can, from now on
        self._raw = _Raw(secret=order.token.encode())
        self._told = 0

    def begin(self) -> None:
        self._conversation.begin()
        self._carry_out()

    def heard(self, data: bytes) -> None:
        """What the agent said."""
        self._raw.keep(data)
        self._conversation.feed(data)
        self._carry_out()

    def request(self, do: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What the server wants said; None for what this is not about."""
        if do == "prompt":
            prompt = Prompt(str(asked.get("id")), str(asked.get("text")))
            answer = self._prompt(prompt, only_after=asked.get("only_after"))
        elif do == "answer":
            answer = {"taken": self._conversation.answer(str(asked.get("ask")), str(asked.get("choice")))}
        elif do == "interrupt":
            self._conversation.interrupt()
            answer = {}
        else:
            return None
        self._carry_out()
        return answer

    @property
    def is_idle(self) -> bool:
        return self._conversation.is_idle

    def state(self) -> dict[str, Any]:
        return {"idle": self.is_idle, "asks": list(self._conversation.asks)}

    def close(self) -> None:
        self._raw.close()

    def _prompt(self, prompt: Prompt, *, only_after: int | None) -> dict[str, Any]:
        """`only_after`: if it is idle, and this was the last that was told of it. Whoever says so knows how things
        stand; all others would say what may have been said since."""
        is_known = self._conversation.knows(prompt)
        if only_after is not None and not is_known and (not self._conversation.is_idle or only_after != self._told):
            return {"state": "busy"}
        why = self._conversation.say(prompt)
        return {"state": "held", "why": why} if why else {"state": "said"}

    def _carry_out(self) -> None:
        """Write what is to be written, then tell what has happened."""
        if data := self._conversation.outgoing():
            self._raw.keep(data)
            self._write(data)
        if self._conversation.joinable:
            self._join(self._conversation.joinable)
        for happening in self._conversation.happened():
            if isinstance(happening, Said):
                self._show(happening.text.replace("\n", "\r\n").encode("utf-8", "replace"))
            else:
                self._told += 1  # numbered: one that comes twice is taken in once
                self._reports.tell(**as_report(happening), n=self._told)


class _Raw:
    """The last of what went to and fro, as it was."""

    def __init__(self, *, secret: bytes) -> None:
        self._secret = secret
        self._file = -1
        self._written = 0

    def keep(self, data: bytes) -> None:
        data = redaction.hide_bytes(data.replace(self._secret, b"(its token)") if self._secret else data)
        with contextlib.suppress(OSError):  # a full disk must not stop the agent
            if self._file >= 0 and self._written + len(data) > _RAW_BYTES_MAX:
                self.close()
                os.replace(RAW, RAW_OLDER)
            if self._file < 0:
                self._open()
            self._written += os.write(self._file, data)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        self._file = os.open(RAW, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._written = 0
