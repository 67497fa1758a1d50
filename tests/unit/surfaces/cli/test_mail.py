"""Commands of mail, sessions and asks pass on their arguments, and printed mail is confirmed as read or delivered."""

from __future__ import annotations

from typing import Any

import pytest

from maestro.core import errors
from maestro.domain.callers import Caller, Role
from maestro.domain.messages import BroadcastScope, MessageType, ReceiptStep, ReceivedMessage
from maestro.domain.priorities import Priority
from maestro.operations.asks import AskList
from maestro.operations.files import CheckedFile, FileAccess
from maestro.operations.mail_shapes import ConfirmedReceipt, InboxPage, MailFile, SentMail
from maestro.operations.sessions import SessionList, SessionWaitUntil, StatusFilter, WaitedSessions
from maestro.surfaces.cli.channel import ClientGone
from maestro.testing.factories import make_ask, make_message, make_session

WORKER = Caller(Role.WORKER, "ses_1", session_id="ses_1", project_id="prj_1")
MESSAGE = make_message(ReceivedMessage, id="msg_1", seq=7)
INBOX = InboxPage(messages=[MESSAGE], receipt="r1:s7")


@pytest.fixture(autouse=True)
def answered(app: Any) -> None:
    sent = SentMail(id="msg_1", thread_id="msg_1", subject="s", created_at=MESSAGE.created_at, deliveries=[])
    for name in ("send", "reply", "broadcast"):
        app.answers[f"mail.{name}"] = sent
    app.answers |= {"mail.inbox": INBOX, "mail.wait": INBOX, "mail.confirm": ConfirmedReceipt(count=1)}
    app.answers |= {"session.list": SessionList(sessions=[]), "ask.list": AskList(asks=[])}
    app.caller = WORKER


def confirmations(app: Any) -> list[tuple[str, ReceiptStep, str]]:
    return [
        (call.request.receipt, call.request.step, call.request.via)
        for call in app.calls
        if call.operation == "mail.confirm"
    ]


@pytest.mark.parametrize("line", ["mail inbox", "mail inbox --json", "mail wait --timeout 1s"])
async def test_mail_that_the_client_confirms_is_marked_as_read(cli: Any, app: Any, line: str) -> None:
    ended = await cli.run(line)
    assert ended.code == 0 and "msg_1" in ended.out
    assert confirmations(app) == [("r1:s7", ReceiptStep.READ, "command")]


@pytest.mark.parametrize("problem", [None, errors.TimedOut("x")])
async def test_mail_that_the_client_does_not_confirm_is_marked_as_delivered(
    cli: Any, app: Any, monkeypatch: pytest.MonkeyPatch, make_channel: Any, problem: Exception | None
) -> None:
    async def confirm(_self: Any) -> bool:
        if problem is not None:
            raise problem
        return False

    monkeypatch.setattr(make_channel, "confirm_output", confirm)
    await cli.run("mail inbox")
    assert confirmations(app) == [("r1:s7", ReceiptStep.DELIVERED, "command")]


async def test_mail_for_a_client_that_has_left_is_not_marked(
    cli: Any, app: Any, monkeypatch: pytest.MonkeyPatch, make_channel: Any
) -> None:
    async def confirm(_self: Any) -> bool:
        raise ClientGone

    monkeypatch.setattr(make_channel, "confirm_output", confirm)
    with pytest.raises(ClientGone):
        await cli.run("mail inbox")
    assert confirmations(app) == []


async def test_the_mail_is_written_before_the_client_is_asked_for_confirmation(
    cli: Any, app: Any, monkeypatch: pytest.MonkeyPatch, make_channel: Any
) -> None:
    written: list[bytes] = []

    async def confirm(self: Any) -> bool:
        written.append(self.written)
        return True

    monkeypatch.setattr(make_channel, "confirm_output", confirm)
    await cli.run("mail inbox")
    assert b"Rebase before you go on." in written[0]


async def test_an_answer_without_a_receipt_is_not_confirmed(cli: Any, app: Any) -> None:
    app.answers["mail.inbox"] = InboxPage(messages=[MESSAGE])
    assert (await cli.run("mail inbox --peek")).code == 0
    app.answers["mail.wait"] = errors.TimedOut("No mail.")
    assert (await cli.run("mail wait")).code == 3
    assert confirmations(app) == []


async def test_recipients_are_given_as_arguments_or_as_flags(cli: Any, app: Any) -> None:
    await cli.run("mail send parser,lexer @ada --subject s --message m")
    assert app.last.request.to == ["parser", "lexer", "@ada"]
    await cli.run("mail send --to-coordinator --to-member ada --to-member bob --subject s --message m")
    request = app.last.request
    assert (request.to, request.to_coordinator, request.to_member) == ([], True, ["ada", "bob"])
    await cli.run("mail send --to-team-member ada --subject s --message m")
    assert app.last.request.to_member == ["ada"]


async def test_type_priority_task_wait_and_scope_of_a_message_are_passed_on(cli: Any, app: Any) -> None:
    await cli.run(
        "mail send w --subject s --message m --type query --priority critical --task '#4' --wait-for read --timeout 5s"
    )
    request = app.last.request
    assert (request.type, request.priority, request.task) == (MessageType.QUERY, Priority.CRITICAL, "#4")
    assert (request.wait_for, request.timeout) == (ReceiptStep.READ, 5000)
    await cli.run("mail broadcast --scope my-workers --subject s --message m")
    assert app.last.request.scope is BroadcastScope.MY_WORKERS
    ended = await cli.run("mail broadcast --scope everyone --subject s --message m")
    assert ended.code == 2 and "my-workers" in ended.err


async def test_attachments_are_sent_with_their_file_names_after_a_check(cli: Any, app: Any) -> None:
    app.answers["file.check"] = CheckedFile(path="/", access=FileAccess.READ)
    files = {"logs/core.log": b"\x00", "/tmp/b": b"b", "body.md": b"# Body\n"}
    await cli.run("mail send w --subject s --message m --attach logs/core.log --attach /tmp/b", files=files)
    assert app.last.request.attach == [
        MailFile(file_name="core.log", content=b"\x00"),
        MailFile(file_name="b", content=b"b"),
    ]
    await cli.run("mail send w --subject s --message-file body.md", files=files)
    assert app.last.request.message == "# Body"
    checked = [call.request.path for call in app.calls if call.operation == "file.check"]
    assert checked == ["/src/dave/vc/logs/core.log", "/tmp/b", "/src/dave/vc/body.md"]
    await cli.run("mail reply msg_1 --message -", input=b"from a pipe")
    assert app.last.request.message == "from a pipe"


async def test_the_status_flag_of_a_session_list_has_an_optional_value(cli: Any, app: Any) -> None:
    for line, status, active in (
        ("session list --status", StatusFilter.ANY, False),
        ("session list --status --active", StatusFilter.ANY, True),
        ("session list --active --status", StatusFilter.ANY, True),
        ("session list --status idle", StatusFilter.IDLE, False),
        ("session list --status=needs_input --active", StatusFilter.NEEDS_INPUT, True),
        ("session list", None, False),
    ):
        ended = await cli.run(line)
        request = app.last.request
        assert (ended.code, request.status, request.active) == (0, status, active), line
    assert (await cli.run("session list --status bogus")).code == 2


async def test_a_wait_for_sessions_ends_with_0_only_if_they_reached_the_state(cli: Any, app: Any) -> None:
    for reached, code in ((True, 0), (False, 1)):
        app.answers["session.wait"] = WaitedSessions(sessions=[make_session()], reached=reached, seq=3)
        ended = await cli.run("session wait parser,lexer --until any-change --timeout 5m --since 3")
        assert ended.code == code and "parser" in ended.out
    request = app.last.request
    assert (request.ids, request.until, request.timeout, request.since) == (
        ["parser", "lexer"],
        SessionWaitUntil.ANY_CHANGE,
        300_000,
        3,
    )


async def test_an_answer_to_an_ask_is_passed_on_as_a_choice_or_a_sentence(cli: Any, app: Any) -> None:
    app.answers["ask.answer"] = make_ask()
    await cli.run('ask answer ask_1 "Use port 8081."')
    assert app.last.request.answer == "Use port 8081."
    await cli.run("ask answer ask_1 allow")
    assert app.last.request.answer == "allow"
    app.answers["ask.create"] = make_ask()
    await cli.run('ask create "Drop it?" --choice "yes, all" --choice no')
    assert app.last.request.choice == ["yes, all", "no"]
