"""Parse the address of a mail recipient. Pure: an address is only parsed, not looked up.

ses_…            session:ses_…   session:NAME     a session
dave/vc          agent:dave/vc                    the agent of a checkout
vc               project:vc      its full key     a project's mailbox
@dana            member:dana     mem_…            a member's mailbox
vc#12  #12       task:vc#12                       a task's thread
coordinator      human
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache

import msgspec

from maestro.core import errors, ids


class AddressKind(enum.StrEnum):
    """The kind of recipient that an address names."""

    SESSION = "session"
    AGENT = "agent"
    PROJECT = "project"
    MEMBER = "member"
    TASK = "task"
    COORDINATOR = "coordinator"
    HUMAN = "human"
    BARE_NAME = "word"  # a bare name: of a session or of a project


class Address(msgspec.Struct, frozen=True):
    """The parsed address of a recipient; `text` is the address as written."""

    kind: AddressKind
    name: str
    text: str


_PREFIXED = re.compile(r"(session|agent|project|member|task):(.+)", re.DOTALL)
_TASK = re.compile(r"[^#\s]*#[0-9]{1,15}")
_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_BARE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KIND_BY_ID_PREFIX = {
    "ses": AddressKind.SESSION,
    "mem": AddressKind.MEMBER,
    "prj": AddressKind.PROJECT,
    "wsp": AddressKind.AGENT,
    "tsk": AddressKind.TASK,
}


@lru_cache(1024)  # sending a message parses its address several times
def parse_address(text: str) -> Address:
    """Return the parsed address; refuse a text that is not an address."""
    text = text.strip()
    if ids.is_id(text) and text[:3] in _KIND_BY_ID_PREFIX:
        return Address(_KIND_BY_ID_PREFIX[text[:3]], text, text)
    prefixed = _PREFIXED.fullmatch(text)
    if prefixed is not None:
        return Address(AddressKind(prefixed[1]), prefixed[2].removeprefix("@").strip(), text)
    if text.lower() in (AddressKind.COORDINATOR, AddressKind.HUMAN):
        return Address(AddressKind(text.lower()), "", text)
    if text.startswith("@") and _BARE_NAME.fullmatch(text[1:]):
        return Address(AddressKind.MEMBER, text[1:], text)
    if _TASK.fullmatch(text):
        return Address(AddressKind.TASK, text, text)
    if _BARE_NAME.fullmatch(text):
        return Address(AddressKind.BARE_NAME, text, text)
    if _AGENT.fullmatch(text):
        return Address(AddressKind.AGENT, text, text)
    if re.fullmatch(r"[^\s/]+(/[^\s/]+)+", text):
        return Address(AddressKind.PROJECT, text, text)
    raise errors.Invalid(
        f"{text!r} is not an address.",
        hint="Write a session's name or id, dave/vc, a project, @member, vc#12, coordinator or human.",
    )
