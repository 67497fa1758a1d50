"""Agents whose model itself starts a command that waits for mail. The tool knows the command.

Checks whether the command runs, and gives the instruction for an agent without a running command.
"""

from __future__ import annotations

from maestro.core import errors
from maestro.domain.conversations import SessionConversation
from maestro.services.runners.runners import Runners
from maestro.tools import registry
from maestro.tools.hook_dialect import HookEvent
from maestro.tools.policy import SHELL
from maestro.wire import runner_folder, runner_requests


class SelfWaits:
    """Asks runners whether the wait commands of their agents run."""

    def __init__(self, runners: Runners) -> None:
        self._runners = runners

    def has_waiter(self, conversation: SessionConversation | None, event: HookEvent) -> bool:
        """Return whether the session's tool needs a wait command, and the event comes from the agent itself."""
        return (
            conversation is not None
            and not event.is_from_subagent
            and registry.find_model_wait(event.tool, conversation.driver) is not None
        )

    def is_wait_command(self, conversation: SessionConversation | None, event: HookEvent) -> bool:
        """Return whether a tool call is the wait command, which needs no permission."""
        waiter = registry.find_model_wait(event.tool, conversation.driver) if conversation is not None else None
        if conversation is None or waiter is None:
            return False
        folder = self._runners.session_folder(conversation.session_id).absolute()
        # A model that an earlier version has instructed names the folder as that version did.
        earlier_folder = folder.parents[1] / runner_folder.EARLIER_SESSIONS / folder.name
        return event.action in {SHELL + waiter.wait_command(str(path)) for path in (folder, earlier_folder)}

    async def missing_wait_instruction(self, conversation: SessionConversation | None, event: HookEvent) -> str:
        """Return the instruction for an agent that is about to stop without a wait command; "" if none is needed."""
        waiter = registry.find_model_wait(event.tool, conversation.driver) if conversation is not None else None
        if conversation is None or waiter is None or event.is_from_subagent:
            return ""
        try:
            state = await self._runners.send_request(conversation.session_id, do=runner_requests.STATE)
        except errors.Conflict:
            return ""  # the session ends
        if state.get(runner_requests.LISTENS):
            return ""
        return waiter.reminder(self.session_folder(conversation.session_id))

    def session_folder(self, session_id: str) -> str:
        """Return Maestro's folder for the session, as an absolute path."""
        return str(self._runners.session_folder(session_id).absolute())
