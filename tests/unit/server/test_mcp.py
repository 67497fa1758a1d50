"""An answer of the MCP surface is plain text, and its hints name tools instead of commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from maestro.core import limits
from maestro.domain.callers import Caller
from maestro.operations import mail, mail_shapes
from maestro.server.app import Server
from maestro.server.mcp import render_answer

Join = Callable[..., Awaitable[Caller]]


async def render_inbox(server: Server, caller: Caller) -> str:
    return render_answer(await server.call(mail.INBOX, mail_shapes.ReadInbox(), caller=caller))


async def test_a_message_that_is_cut_short_names_the_tool_that_shows_the_full_text(
    server: Server, join: Join, dana: Caller
) -> None:
    ada = await join("ada")
    body = "maestro mail show msg_1\n" + "x" * (limits.inbox_body_chars_max + 1)
    request = mail_shapes.SendMail(to=[ada.name], subject="s", message=body)
    sent = await server.call(mail.SEND, request, caller=dana)
    text = await render_inbox(server, ada)
    assert f'… cut short; full text: mail(action="show", id="{sent.id}")' in text
    assert "  | maestro mail show msg_1\n" in text, "The text of the sender was changed."


async def test_mail_to_a_project_names_the_tool_that_claims_the_thread(
    server: Server, join: Join, dana: Caller, vc: str
) -> None:
    ada = await join("ada")
    request = mail_shapes.PostToProject(
        project=vc, subject="s", message="claim the thread with: maestro mail claim 1"
    )
    await server.call(mail.POST_TO_PROJECT, request, caller=dana)
    text = await render_inbox(server, ada)
    assert "  | claim the thread with: maestro mail claim 1\n" in text
    assert text.count("maestro mail claim") == 1 and "claim the thread with: mail(" in text


async def test_an_answer_of_the_mcp_surface_has_no_colours(server: Server, join: Join) -> None:
    assert "\x1b" not in await render_inbox(server, await join("ada"))
