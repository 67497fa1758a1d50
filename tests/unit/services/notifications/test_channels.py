"""The desktop channel shows who needs the person, and the webhook channel reports why it failed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from maestro.domain.asks import AskKind
from maestro.domain.notifications import Notification, NotificationKind
from maestro.services.notifications.channels import ChannelFailed, DesktopChannel, WebhookChannel
from maestro.testing.clock import FakeClock

Webhook = Any


def about_ask(kind: NotificationKind, **fields: Any) -> Notification:
    values = {"project": "vc", "session": "w", "session_id": "ses_1", "ask_id": "ask_1", "content": "--drop it?"}
    return Notification(
        id="ntf_1", kind=kind, ask_kind=AskKind.PERMISSION, created_at=FakeClock().now(), **(values | fields)
    )


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace `notify-send` by a script that records its arguments in a file; return the file."""
    recorded = tmp_path / "recorded"
    program = tmp_path / "notify-send"
    program.write_text(f'#!/bin/sh\nprintf "%s|" "$@" >> {recorded}\necho >> {recorded}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("DISPLAY", ":9")
    return recorded


def test_the_desktop_shows_opened_and_withdrawn_asks_and_no_answered_asks(desktop: Path) -> None:
    kinds = (NotificationKind.ASK_OPENED, NotificationKind.ASK_ANSWERED, NotificationKind.ASK_WITHDRAWN)
    for kind in kinds:
        DesktopChannel().send(about_ask(kind), with_content=True)
    assert desktop.read_text().splitlines() == [
        "--app-name=Maestro|--|w needs you|--drop it?|",
        "--app-name=Maestro|--|w no longer needs you|--drop it?|",
    ]


def test_the_desktop_shows_no_content_without_the_setting(desktop: Path) -> None:
    DesktopChannel().send(about_ask(NotificationKind.ASK_OPENED), with_content=False)
    shown = desktop.read_text()
    assert "w needs you|It asks for a permission in vc: maestro ask show ask_1|" in shown and "drop" not in shown


def test_a_failing_desktop_program_is_reported(desktop: Path) -> None:
    (desktop.parent / "notify-send").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ChannelFailed, match="notify-send failed"):
        DesktopChannel().send(about_ask(NotificationKind.ASK_OPENED), with_content=True)


def test_an_unreachable_webhook_is_reported(webhook: Webhook) -> None:
    webhook.close()
    with pytest.raises(ChannelFailed, match="refused"):
        WebhookChannel(webhook.url).send(about_ask(NotificationKind.ASK_OPENED), with_content=True)


def test_a_webhook_that_answers_with_an_error_is_reported(webhook: Webhook) -> None:
    webhook.answer = 503
    with pytest.raises(ChannelFailed, match="503"):
        WebhookChannel(webhook.url).send(about_ask(NotificationKind.ASK_OPENED), with_content=True)
