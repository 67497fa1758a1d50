"""Drive the conversation with a program. Only the tool's own conversation module knows the tool and its protocol."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable
from typing import Any

from maestro.runner.reports import ReportSender
from maestro.text import redaction
from maestro.tools.conversation import Conversation, ConversationOpening, Prompt
from maestro.tools.conversation_events import TranscriptText, encode_event
from maestro.wire import runner_folder
from maestro.wire.runner_order import RunnerOrder

_RAW_BYTES_MAX = 4 * 1024 * 1024  # for each of the two files


class PipeConversation:
    """The conversation between a runner and a program that speaks a protocol."""

    def __init__(
        self,
        order: RunnerOrder,
        reports: ReportSender,
        *,
        show: Callable[[bytes], None],
        write: Callable[[bytes], None],
        join: Callable[[str], None] = lambda conversation: None,
    ) -> None:
        module = importlib.import_module(f"maestro.tools.{order.conversation}.conversation")
        self._conversation: Conversation = module.CONVERSATION(ConversationOpening(**order.opening))
        self._reports = reports
        self._show = show
        self._write = write
        self._join = join  # called when another program can join the conversation
        self._raw_log = _RawLog(secret=order.token.encode())
        self._last_event_number = 0

    def begin_conversation(self) -> None:
        self._conversation.start_conversation()
        self._write_and_report()

    def apply_output(self, data: bytes) -> None:
        """Apply bytes that the program sent."""
        self._raw_log.append_bytes(data)
        self._conversation.process_output(data)
        self._write_and_report()

    def handle_request(self, action: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Carry out a request of the server; return its answer, or None for requests of another kind."""
        if action == "prompt":
            prompt = Prompt(str(arguments.get("id")), str(arguments.get("text")))
            answer = self._push_text(prompt, only_after=arguments.get("only_after"))
        elif action == "answer":
            answer = {"taken": self._conversation.answer_ask(str(arguments.get("ask")), str(arguments.get("choice")))}
        elif action == "interrupt":
            self._conversation.interrupt_turn()
            answer = {}
        else:
            return None
        self._write_and_report()
        return answer

    @property
    def is_idle(self) -> bool:
        return self._conversation.is_idle

    def describe_state(self) -> dict[str, Any]:
        return {"idle": self.is_idle, "asks": list(self._conversation.open_asks)}

    def close(self) -> None:
        self._raw_log.close()

    def _push_text(self, prompt: Prompt, *, only_after: int | None) -> dict[str, Any]:
        """Push a text to the program.

        With `only_after`, push only if the program is idle and the last reported event has this number. Otherwise the
        server's knowledge is out of date, and the text may have been pushed already.
        """
        is_known = self._conversation.is_known(prompt)
        if (
            only_after is not None
            and not is_known
            and (not self._conversation.is_idle or only_after != self._last_event_number)
        ):
            return {"state": "busy"}
        why = self._conversation.send_prompt(prompt)
        return {"state": "held", "why": why} if why else {"state": "said"}

    def _write_and_report(self) -> None:
        """Write the outgoing bytes, then report the new conversation events."""
        if data := self._conversation.take_outgoing():
            self._raw_log.append_bytes(data)
            self._write(data)
        if self._conversation.join_id:
            self._join(self._conversation.join_id)
        for event in self._conversation.take_events():
            if isinstance(event, TranscriptText):
                self._show(event.text.replace("\n", "\r\n").encode("utf-8", "replace"))
            else:
                self._last_event_number += 1  # the server applies an event number only once
                self._reports.queue_report(**encode_event(event), n=self._last_event_number)


class _RawLog:
    """The last raw bytes of the conversation, in two files of limited size."""

    def __init__(self, *, secret: bytes) -> None:
        self._secret = secret
        self._file = -1
        self._written = 0

    def append_bytes(self, data: bytes) -> None:
        data = redaction.hide_tokens_in_bytes(data.replace(self._secret, b"(its token)") if self._secret else data)
        with contextlib.suppress(OSError):  # a full disk must not stop the agent
            if self._file >= 0 and self._written + len(data) > _RAW_BYTES_MAX:
                self.close()
                os.replace(runner_folder.CONVERSATION_LOG, runner_folder.OLDER_CONVERSATION_LOG)
            if self._file < 0:
                self._open()
            self._written += os.write(self._file, data)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        self._file = os.open(
            runner_folder.CONVERSATION_LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        self._written = 0
