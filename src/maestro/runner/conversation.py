"""Drive the conversation with a program. Only the tool's own conversation module knows the tool and its protocol."""

from __future__ import annotations

import codecs
import contextlib
import importlib
import os
from collections.abc import Callable
from typing import Any

from maestro.runner.reports import ReportSender
from maestro.text import redaction
from maestro.tools.conversation import Conversation, ConversationOpening, Prompt
from maestro.tools.conversation_events import TranscriptText, encode_event
from maestro.wire import runner_folder, runner_requests
from maestro.wire.runner_order import RunnerOrder

_RAW_BYTES_MAX = 4 * 1024 * 1024  # of each of the two log files
_KEEP_INVALID_BYTES = "surrogateescape"  # the log shows errors of the program as they came


class RunnerConversation:
    """The conversation between a runner and a program that speaks a protocol."""

    def __init__(
        self,
        order: RunnerOrder,
        reports: ReportSender,
        *,
        show: Callable[[bytes], None],
        write: Callable[[bytes], None],
        on_joinable: Callable[[str], None] = lambda conversation_id: None,
    ) -> None:
        module = importlib.import_module(f"maestro.tools.{order.conversation}.conversation")
        self._conversation: Conversation = module.CONVERSATION(ConversationOpening(**order.opening))
        self._reports = reports
        self._show = show
        self._write = write
        self._on_joinable = on_joinable  # called after each exchange, once another program can join
        self._raw_log = _RawLog()
        self._last_event_number = 0

    def start_conversation(self) -> None:
        self._conversation.start_conversation()
        self._write_and_report()

    def process_output(self, data: bytes) -> None:
        """Process bytes that the program sent."""
        self._raw_log.append_received(data)
        self._conversation.process_output(data)
        self._write_and_report()

    def handle_request(self, action: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Carry out a request of the server. Return the answer; None if this class does not handle `action`."""
        if action == runner_requests.PROMPT:
            prompt = Prompt(str(arguments.get("id")), str(arguments.get("text")))
            answer = self._push_text(prompt, only_after=arguments.get("only_after"))
        elif action == runner_requests.ANSWER:
            is_taken = self._conversation.answer_ask(str(arguments.get("ask")), str(arguments.get("choice")))
            answer = {runner_requests.IS_TAKEN: is_taken}
        elif action == runner_requests.INTERRUPT:
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
        return {runner_requests.IDLE: self.is_idle, runner_requests.ASKS: list(self._conversation.open_asks)}

    def close(self) -> None:
        self._raw_log.close()

    def _push_text(self, prompt: Prompt, *, only_after: int | None) -> dict[str, Any]:
        """Push a text to the program.

        With `only_after`, push only if the program is idle and the last reported event has this number. Otherwise the
        server's knowledge is out of date, and the text may have been pushed already. A prompt that the conversation
        already knows is never refused.
        """
        is_known = self._conversation.is_known(prompt)
        if (
            only_after is not None
            and not is_known
            and (not self._conversation.is_idle or only_after != self._last_event_number)
        ):
            return {runner_requests.PUSH_STATE: runner_requests.BUSY}
        why = self._conversation.send_prompt(prompt)
        if why:
            return {runner_requests.PUSH_STATE: runner_requests.HELD, runner_requests.REASON: why}
        return {runner_requests.PUSH_STATE: runner_requests.PUSHED}

    def _write_and_report(self) -> None:
        """Write the outgoing bytes, then report the new conversation events."""
        if data := self._conversation.take_outgoing():
            self._raw_log.append_sent(data)
            self._write(data)
        if self._conversation.join_id:
            self._on_joinable(self._conversation.join_id)
        for event in self._conversation.take_events():
            if isinstance(event, TranscriptText):
                self._show(event.text.replace("\n", "\r\n").encode("utf-8", "replace"))
            else:
                self._last_event_number += 1  # the server applies an event number only once
                self._reports.queue_report(**encode_event(event), n=self._last_event_number)


class _RawLog:
    """The last raw bytes of the conversation, without tokens, in two files of limited size."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")(_KEEP_INVALID_BYTES).decode
        self._redacted = redaction.TokenFilter()
        self._descriptor = -1
        self._written = 0

    def append_received(self, data: bytes) -> None:
        """Append bytes of the program, which may end within a token."""
        self._append_text(self._redacted.filter_piece(self._decode(data)))

    def append_sent(self, data: bytes) -> None:
        """Append whole lines of Maestro."""
        self._append_bytes(redaction.hide_tokens_in_bytes(data))

    def close(self) -> None:
        self._append_text(self._redacted.filter_piece(self._decode(b"", True)) + self._redacted.release_held())
        self._close_file()

    def _append_text(self, text: str) -> None:
        if text:
            self._append_bytes(text.encode("utf-8", _KEEP_INVALID_BYTES))

    def _append_bytes(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk must not stop the program
            if self._descriptor >= 0 and self._written + len(data) > _RAW_BYTES_MAX:
                self._close_file()
                os.replace(runner_folder.CONVERSATION_LOG, runner_folder.OLDER_CONVERSATION_LOG)
            if self._descriptor < 0:
                self._open_file()
            self._written += os.write(self._descriptor, data)

    def _open_file(self) -> None:
        self._descriptor = os.open(
            runner_folder.CONVERSATION_LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600
        )
        self._written = 0

    def _close_file(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
