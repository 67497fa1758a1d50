"""The elements of a prompt about people: personas, team, coordinator, directive, siblings and earlier start."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.manifests import Coordinator, Directive, Letter, Manifest, Resumed, Sibling, TeamMember
from maestro.domain.sessions import Mode
from maestro.prompts.parts import Parts, Where
from maestro.prompts.work import link
from maestro.prompts.xml import Markup, element

_RESUMED = (
    "You are a resumed session: an earlier start of this session has ended. Your name, working directory and mailbox "
    "are the same; your earlier context may be lost. First read your mail and check the state of your work: "
    "your tasks, your workers if you have any, and the files."
)
_MEMBERS = Where("member.list")


def personas(parts: Parts, manifest: Manifest) -> Markup | None:
    """Return the members that the session takes on, with their identities."""
    return parts.entries("personas", manifest.members, lambda member: _persona_element(parts, member), _MEMBERS)


def roster(parts: Parts, manifest: Manifest) -> Markup | None:
    """Return the team: with all details for a coordinator, which assigns work; with addresses for other sessions."""
    make = _full_member_element if manifest.session.mode is Mode.COORDINATE else _short_member_element
    return parts.entries("team_members", manifest.roster, lambda member: make(parts, member), _MEMBERS)


def coordinator(parts: Parts, found: Coordinator) -> Markup:
    """Return the session's coordinator."""
    return element(
        "coordinator",
        {
            "session_id": found.session_id,
            "team_member_id": found.member_id,
            "name": parts.line(found.name),
            "team_member_name": parts.line(found.member_name),
            "address": parts.line(found.address),
        },
    )


def directive(parts: Parts, found: Directive) -> Markup:
    """Return the directive that the session was started with."""
    read = Where("mail.show", found.message_id) if found.message_id else Where("mail.inbox", switch="all")
    attributes: dict[str, str | None] = {
        "subject": parts.line(found.subject),
        "from": parts.line(found.sender),
        "sender": found.sender_kind.value,
        "message_id": found.message_id,
    }
    return parts.prose("coordinator_directive", found.text, read, attributes=attributes)


def resumed(parts: Parts, found: Resumed) -> Markup:
    """Return the notice that the session was started before, with the mail that has arrived since."""
    read = Where("mail.inbox")
    messages = parts.entries("messages", found.messages, lambda message: _message_element(parts, message), read)
    mail = element("unread", {"count": str(found.unread), "read_all": parts.call(read)}, messages)
    last_words = element("last_words", None, parts.line(found.last_words)) if found.last_words else None
    attributes: dict[str, str | None] = {"ended_as": found.status.value, "ended_at": found.ended_at}
    return element("resumed", attributes, element("how", None, _RESUMED), mail if found.unread else None, last_words)


def _message_element(parts: Parts, message: Letter) -> Markup:
    attributes: dict[str, str | None] = {
        "id": message.message_id,
        "from": parts.line(message.sender),
        "type": message.type.value,
        "priority": message.priority.value,
        "subject": parts.line(message.subject),
    }
    return element("message", attributes, parts.line(message.text))


def siblings(parts: Parts, manifest: Manifest) -> Markup | None:
    """Return the sessions with the same coordinator, and their tasks."""
    read = Where("session.list", switch="siblings")
    return parts.entries("siblings", manifest.siblings, lambda sibling: _sibling_element(parts, sibling), read)


def _persona_element(parts: Parts, member: TeamMember) -> Markup:
    read = Where("member.show", member.name)
    return element(
        "persona",
        _member_attributes(parts, member),
        parts.prose("identity", member.identity, read) if member.identity else None,
        _line_element(parts, "avatar", member.avatar),
        _line_element(parts, "mail_id", member.mail_id),
        parts.items("skills", member.skills, lambda skill: _line_element(parts, "skill", skill), read),
    )


def _full_member_element(parts: Parts, member: TeamMember) -> Markup:
    read = Where("member.show", member.name)
    return element(
        "team_member",
        _member_attributes(parts, member),
        parts.prose("identity", member.identity, read, chars=limits.roster_identity_chars_max),
        _line_element(parts, "avatar", member.avatar),
        _line_element(parts, "mail_id", member.mail_id),
        _line_element(parts, "model", member.model) if member.model else None,
        _line_element(parts, "agent_tool", member.agent_tool) if member.agent_tool else None,
    )


def _short_member_element(parts: Parts, member: TeamMember) -> Markup:
    return element("team_member", _member_attributes(parts, member), _line_element(parts, "mail_id", member.mail_id))


def _member_attributes(parts: Parts, member: TeamMember) -> dict[str, str | None]:
    return {"id": member.id, "name": parts.line(member.name), "role": parts.line(member.role)}


def _line_element(parts: Parts, name: str, value: str | None) -> Markup:
    return element(name, None, parts.line(value) or "")


def _sibling_element(parts: Parts, sibling: Sibling) -> Markup:
    read = Where("session.show", sibling.session_id)
    attributes: dict[str, str | None] = {
        "session_id": sibling.session_id,
        "name": parts.line(sibling.name),
        "mode": sibling.mode.value,
        "status": sibling.status.value if sibling.status else None,
        "member": parts.line(sibling.member),
    }
    tasks = parts.items("tasks", sibling.tasks, lambda task: link(parts, "task", task), read)
    return element("sibling", attributes, tasks)
