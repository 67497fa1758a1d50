"""Notifications: how Maestro calls the person to an agent, on the desktop and over a webhook."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from maestro.core import limits
from maestro.domain.callers import Callers
from maestro.domain.notifications import Notification
from maestro.operations import fields
from maestro.operations.base import GET, POST, CommandSyntax, Effect, Operation, Request


class TestNotification(Request, frozen=True, kw_only=True):
    """A request without fields."""

    __test__ = False  # pytest takes the class for a test by its name


class ChannelResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test for one channel."""

    channel: str
    problem: str = ""  # why the channel failed; empty if the test was sent


class NotificationTest(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test for every channel that is switched on."""

    channels: list[ChannelResult]


class ListNotifications(Request, frozen=True, kw_only=True):
    failed: Annotated[bool, Meta(description="Only notifications that could not be sent in the last day.")] = False
    limit: fields.Limit = limits.page_items_default


class NotificationList(msgspec.Struct, frozen=True, kw_only=True):
    notifications: list[Notification]


TEST = Operation(
    "notify.test",
    TestNotification,
    NotificationTest,
    callers=Callers.PERSON,
    http=POST("/api/notifications/test"),
    summary="Send a test notification over every channel, and show the results.",
    effect=Effect.ACTION,
    command=CommandSyntax("notify test"),
    examples=("maestro notify test",),
)
LIST = Operation(
    "notify.list",
    ListNotifications,
    NotificationList,
    callers=Callers.PERSON,
    http=GET("/api/notifications"),
    summary="List the newest notifications, and why an attempt failed.",
    effect=Effect.READ,
    command=CommandSyntax("notify list"),
    examples=("maestro notify list", "maestro notify list --failed"),
)

ALL = (TEST, LIST)
