"""Drive the conversation with a program. Only the tool's own conversation module knows the tool and its protocol."""

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

RAW = "conversation.jsonl"  # the raw bytes of the conversation, for the search for errors
RAW_OLDER = "conversation-older.jsonl"
_RAW_BYTES_MAX = 4 * 1024 * 1024  # for each of the two files


class Talk:
    """The conversation between a runner and a program that speaks a protocol."""

    def __init__(
        self,
        order: Order,
        reports: Reports,
        *,
        show: Callable[[bytes], None],
        write: Callable[[bytes], None],
        join: Callable[[str], None] = lambda conversation: None,
    ) -> None:
        module = importlib.import_module(f"maestro.tools.{order.conversation}.conversation")
        self._conversation: Conversation = module.TALK(Opening(**order.opening))
        self._reports = reports
        self._show = show
        self._write = write
        self._join = join  # called when another program can join the conversation
        self._raw_log = _RawLog(secret=order.token.encode())
        self._last_event_number = 0

    def begin(self) -> None:
        self._conversation.begin()
        self._write_and_report()

    def heard(self, data: bytes) -> None:
        """Apply bytes that the program sent."""
        self._raw_log.keep(data)
        self._conversation.feed(data)
        self._write_and_report()

    def request(self, do: str, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Carry out a request of the server; return its answer, or None for requests of another kind."""
        if do == "prompt":
            prompt = Prompt(str(asked.get("id")), str(asked.get("text")))
            answer = self._push_text(prompt, only_after=asked.get("only_after"))
        elif do == "answer":
            answer = {"taken": self._conversation.answer(str(asked.get("ask")), str(asked.get("choice")))}
        elif do == "interrupt":
            self._conversation.interrupt()
            answer = {}
        else:
            return None
        self._write_and_report()
        return answer

    @property
    def is_idle(self) -> bool:
        return self._conversation.is_idle

    def state(self) -> dict[str, Any]:
        return {"idle": self.is_idle, "asks": list(self._conversation.asks)}

    def close(self) -> None:
        self._raw_log.close()

    def _push_text(self, prompt: Prompt, *, only_after: int | None) -> dict[str, Any]:
        """Push a text to the program.

        With `only_after`, push only if the program is idle and the last reported event has this number. Otherwise the
        server's knowledge is out of date, and the text may have been pushed already.
        """
        is_known = self._conversation.knows(prompt)
        if (
            only_after is not None
            and not is_known
            and (not self._conversation.is_idle or only_after != self._last_event_number)
        ):
            return {"state": "busy"}
        why = self._conversation.say(prompt)
        return {"state": "held", "why": why} if why else {"state": "said"}

    def _write_and_report(self) -> None:
        """Write the outgoing bytes, then report the new conversation events."""
        if data := self._conversation.outgoing():
            self._raw_log.keep(data)
            self._write(data)
        if self._conversation.joinable:
            self._join(self._conversation.joinable)
        for event in self._conversation.happened():
            if isinstance(event, Said):
                self._show(event.text.replace("\n", "\r\n").encode("utf-8", "replace"))
            else:
                self._last_event_number += 1  # the server applies an event number only once
                self._reports.tell(**as_report(event), n=self._last_event_number)


class _RawLog:
    """The last raw bytes of the conversation, in two files of limited size."""

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
