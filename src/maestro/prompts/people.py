"""The elements of a prompt about people: personas, team, coordinator, directive, siblings and earlier start."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.manifests import (
    LastStart,
    Manifest,
    ManifestCoordinator,
    ManifestDirective,
    ManifestMember,
    SiblingSession,
    UnreadMessage,
)
from maestro.domain.sessions import SessionMode
from maestro.prompts.parts import ElementBuilder, ReadCall
from maestro.prompts.work import task_link
from maestro.prompts.xml import Markup, element

_RESUMED = (
    "You are a resumed session: an earlier start of this session has ended. Your name, working directory and mailbox "
    "are the same; your earlier context may be lost. First read your mail and check the state of your work: "
    "your tasks, your workers if you have any, and the files."
)
_MEMBERS = ReadCall("member.list")


def persona_list(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the members that the session takes on, with their identities."""
    return parts.counted_list("personas", manifest.members, lambda member: _persona_element(parts, member), _MEMBERS)


def team_roster(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the team: with all details for a coordinator, which assigns work; with addresses for other sessions."""
    make = _full_member_element if manifest.session.mode is SessionMode.COORDINATE else _short_member_element
    return parts.counted_list("team_members", manifest.roster, lambda member: make(parts, member), _MEMBERS)


def coordinator_element(parts: ElementBuilder, coordinator: ManifestCoordinator) -> Markup:
    """Return the session's coordinator."""
    return element(
        "coordinator",
        {
            "session_id": coordinator.session_id,
            "team_member_id": coordinator.member_id,
            "name": parts.short_text(coordinator.name),
            "team_member_name": parts.short_text(coordinator.member_name),
            "address": parts.short_text(coordinator.address),
        },
    )


def directive_element(parts: ElementBuilder, directive: ManifestDirective) -> Markup:
    """Return the directive that the session was started with."""
    read = (
        ReadCall("mail.show", directive.message_id) if directive.message_id else ReadCall("mail.inbox", switch="all")
    )
    attributes: dict[str, str | None] = {
        "subject": parts.short_text(directive.subject),
        "from": parts.short_text(directive.sender),
        "sender": directive.sender_kind.value,
        "message_id": directive.message_id,
    }
    return parts.long_text("coordinator_directive", directive.text, read, attributes=attributes)


def resumption_element(parts: ElementBuilder, resumed: LastStart) -> Markup:
    """Return the notice that the session was started before, with the mail that has arrived since."""
    read = ReadCall("mail.inbox")
    messages = parts.counted_list(
        "messages", resumed.messages, lambda message: _message_element(parts, message), read
    )
    mail = element("unread", {"count": str(resumed.unread), "read_all": parts.spell_read_call(read)}, messages)
    last_output = element("last_output", None, parts.short_text(resumed.last_output)) if resumed.last_output else None
    attributes: dict[str, str | None] = {"ended_as": resumed.status.value, "ended_at": resumed.ended_at}
    return element(
        "resumed", attributes, element("how", None, _RESUMED), mail if resumed.unread else None, last_output
    )


def _message_element(parts: ElementBuilder, message: UnreadMessage) -> Markup:
    attributes: dict[str, str | None] = {
        "id": message.message_id,
        "from": parts.short_text(message.sender),
        "type": message.type.value,
        "priority": message.priority.value,
        "subject": parts.short_text(message.subject),
    }
    return element("message", attributes, parts.short_text(message.text))


def sibling_list(parts: ElementBuilder, manifest: Manifest) -> Markup | None:
    """Return the sessions with the same coordinator, and their tasks."""
    read = ReadCall("session.list", switch="siblings")
    return parts.counted_list("siblings", manifest.siblings, lambda sibling: _sibling_element(parts, sibling), read)


def _persona_element(parts: ElementBuilder, member: ManifestMember) -> Markup:
    read = ReadCall("member.show", member.name)
    return element(
        "persona",
        _member_attributes(parts, member),
        parts.long_text("identity", member.identity, read) if member.identity else None,
        _line_element(parts, "avatar", member.avatar),
        _line_element(parts, "mail_id", member.mail_id),
        parts.inner_list("skills", member.skills, lambda skill: _line_element(parts, "skill", skill), read),
    )


def _full_member_element(parts: ElementBuilder, member: ManifestMember) -> Markup:
    read = ReadCall("member.show", member.name)
    return element(
        "team_member",
        _member_attributes(parts, member),
        parts.long_text("identity", member.identity, read, chars=limits.roster_identity_chars_max),
        _line_element(parts, "avatar", member.avatar),
        _line_element(parts, "mail_id", member.mail_id),
        _line_element(parts, "model", member.model) if member.model else None,
        _line_element(parts, "agent_tool", member.agent_tool) if member.agent_tool else None,
    )


def _short_member_element(parts: ElementBuilder, member: ManifestMember) -> Markup:
    return element("team_member", _member_attributes(parts, member), _line_element(parts, "mail_id", member.mail_id))


def _member_attributes(parts: ElementBuilder, member: ManifestMember) -> dict[str, str | None]:
    return {"id": member.id, "name": parts.short_text(member.name), "role": parts.short_text(member.role)}


def _line_element(parts: ElementBuilder, name: str, value: str | None) -> Markup:
    return element(name, None, parts.short_text(value) or "")


def _sibling_element(parts: ElementBuilder, sibling: SiblingSession) -> Markup:
    read = ReadCall("session.show", sibling.session_id)
    attributes: dict[str, str | None] = {
        "session_id": sibling.session_id,
        "name": parts.short_text(sibling.name),
        "mode": sibling.mode.value,
        "status": sibling.status.value if sibling.status else None,
        "member": parts.short_text(sibling.member),
    }
    tasks = parts.inner_list("tasks", sibling.tasks, lambda task: task_link(parts, "task", task), read)
    return element("sibling", attributes, tasks)
