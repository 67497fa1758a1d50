"""Who is who in a prompt: whom a session takes on, its team, its coordinator, those who work beside it."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.manifests import Coordinator, Directive, Letter, Manifest, Resumed, Sibling, TeamMember
from maestro.domain.sessions import Mode
from maestro.prompts.parts import Parts, Where
from maestro.prompts.work import link
from maestro.prompts.xml import Markup, element

_RESUMED = (
    "You were started before as this very session, and that came to an end. Your name, working directory and mailbox "
    "are the same; what you had in mind may be gone. Before anything else, look at what was said meanwhile and at "
    "what you left: your mail, your tasks, your workers if you have any, and the files."
)
_MEMBERS = Where("member.list")


def personas(parts: Parts, manifest: Manifest) -> Markup | None:
    """Whom the session takes on, with all that is said of them."""
    return parts.entries("personas", manifest.members, lambda member: _persona(parts, member), _MEMBERS)


def roster(parts: Parts, manifest: Manifest) -> Markup | None:
    """The team: in full for who assigns work, and for others whom they can write to."""
    make = _team_member if manifest.session.mode is Mode.COORDINATE else _slim_member
    return parts.entries("team_members", manifest.roster, lambda member: make(parts, member), _MEMBERS)


def coordinator(parts: Parts, found: Coordinator) -> Markup:
    """Whom the session reports to."""
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
    """What the session was started with."""
    read = Where("mail.show", found.message_id) if found.message_id else Where("mail.inbox", switch="all")
    attributes: dict[str, str | None] = {
        "subject": parts.line(found.subject),
        "from": parts.line(found.sender),
        "sender": found.sender_kind.value,
        "message_id": found.message_id,
    }
    return parts.prose("coordinator_directive", found.text, read, attributes=attributes)


def resumed(parts: Parts, found: Resumed) -> Markup:
    """That the session was started before, and what was said while it was away."""
    read = Where("mail.inbox")
    letters = parts.entries("messages", found.messages, lambda letter: _letter(parts, letter), read)
    mail = element("unread", {"count": str(found.unread), "read_all": parts.call(read)}, letters)
    said = element("last_words", None, parts.line(found.last_words)) if found.last_words else None
    attributes: dict[str, str | None] = {"ended_as": found.status.value, "ended_at": found.ended_at}
    return element("resumed", attributes, element("how", None, _RESUMED), mail if found.unread else None, said)


def _letter(parts: Parts, letter: Letter) -> Markup:
    attributes: dict[str, str | None] = {
        "id": letter.message_id,
        "from": parts.line(letter.sender),
        "type": letter.type.value,
        "priority": letter.priority.value,
        "subject": parts.line(letter.subject),
    }
    return element("message", attributes, parts.line(letter.text))


def siblings(parts: Parts, manifest: Manifest) -> Markup | None:
    """Who works beside the session, and on what."""
    read = Where("session.list", switch="siblings")
    return parts.entries("siblings", manifest.siblings, lambda sibling: _sibling(parts, sibling), read)


def _persona(parts: Parts, member: TeamMember) -> Markup:
    read = Where("member.show", member.name)
    return element(
        "persona",
        _named(parts, member),
        parts.prose("identity", member.identity, read) if member.identity else None,
        _told(parts, "avatar", member.avatar),
        _told(parts, "mail_id", member.mail_id),
        parts.items("skills", member.skills, lambda skill: _told(parts, "skill", skill), read),
    )


def _team_member(parts: Parts, member: TeamMember) -> Markup:
    read = Where("member.show", member.name)
    return element(
        "team_member",
        _named(parts, member),
        parts.prose("identity", member.identity, read, chars=limits.roster_identity_chars_max),
        _told(parts, "avatar", member.avatar),
        _told(parts, "mail_id", member.mail_id),
        _told(parts, "model", member.model) if member.model else None,
        _told(parts, "agent_tool", member.agent_tool) if member.agent_tool else None,
    )


def _slim_member(parts: Parts, member: TeamMember) -> Markup:
    return element("team_member", _named(parts, member), _told(parts, "mail_id", member.mail_id))


def _named(parts: Parts, member: TeamMember) -> dict[str, str | None]:
    return {"id": member.id, "name": parts.line(member.name), "role": parts.line(member.role)}


def _told(parts: Parts, name: str, value: str | None) -> Markup:
    return element(name, None, parts.line(value) or "")


def _sibling(parts: Parts, sibling: Sibling) -> Markup:
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
