"""Create, list, show, edit and archive members: personas of a project that sessions can take on."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import members
from maestro.domain.callers import Caller
from maestro.domain.events import EventKind, NewEvent
from maestro.domain.members import Member, Permission
from maestro.domain.projects import Project
from maestro.domain.visibility import redact_member
from maestro.operations import members as ops
from maestro.services.access.scope import find_project, require_own_project
from maestro.services.members import rights
from maestro.store.base import Tx


def create_member(tx: Tx, caller: Caller, request: ops.CreateMember) -> Member:
    """Create a member with a name that no present member of the project has."""
    project = find_project(tx, caller, request.project)
    require_own_project(caller, project, action="create members")
    name = _free_name(tx, project, request.name)
    allow, deny = rights.resolve_rights(caller, allow=request.allow, deny=request.deny)
    rights.require_within_grant(caller, tool=request.tool, permission=request.permission)
    member = Member(
        id=ids.new_id("mem", tx.at),
        project_id=project.id,
        name=name,
        role=request.role.strip(),
        identity=request.identity,
        avatar=request.avatar.strip(),
        mail_id=f"@{name}",
        skills=_distinct_texts(request.skills),
        model=(request.model or "").strip() or None,
        tool=request.tool.value if request.tool else None,
        permission=request.permission,
        allow=allow,
        deny=deny,
        archived=False,
        created_by=caller.name,
        created_at=tx.at,
        updated_at=tx.at,
    )
    tx.members.insert(member)
    data = {"name": name, "role": member.role}
    tx.log(NewEvent(EventKind.MEMBER_CREATED, member.id, project.id, data), actor=caller.name)
    return member


def list_members(tx: Tx, caller: Caller, request: ops.ListMembers) -> ops.MemberList:
    project = find_project(tx, caller, request.project)
    # No name contains a slash. Archived members may share a name, so the cursor also has the id.
    after, _, after_id = request.cursor.partition("/")
    found = tx.members.list_page(
        project.id, after=(after, after_id), limit=request.limit + 1, archived=request.archived
    )
    has_more = len(found) > request.limit
    found = [redact_member(caller, member) for member in found[: request.limit]]
    return ops.MemberList(members=found, cursor=f"{found[-1].name}/{found[-1].id}" if has_more else None)


def show_member(tx: Tx, caller: Caller, request: ops.OneMember) -> ops.MemberDetail:
    member = find_member(tx, caller, request.id, project=request.project)
    teams = tx.members.teams.of_member(member.id, limit=limits.page_items_max)
    live_sessions = tx.sessions.ids_of_member(member.id, limit=limits.page_items_max)
    return ops.MemberDetail(
        **msgspec.structs.asdict(redact_member(caller, member)),
        teams=[team.name for team in teams],
        leads=[team.name for team in teams if team.leader == member.name and not member.archived],
        sessions=[ops.LiveSession(id=session_id, name=name) for session_id, name in live_sessions],
    )


def edit_member(tx: Tx, caller: Caller, request: ops.EditMember) -> ops.ChangedMember:
    """Change the fields that the request gives; leave the other fields unchanged."""
    member, project = _changeable_member(tx, caller, request, action="change members")
    given_fields = _given_fields(tx, caller, request, member, project)
    if not given_fields:
        raise errors.Invalid(
            f"No change to member {member.name} was given.",
            hint="Give at least one of --role, --identity, --model, …",
        )
    changed = {name: value for name, value in given_fields.items() if value != getattr(member, name)}
    rights.require_within_grant(caller, tool=changed.get("tool"), permission=changed.get("permission"))
    if not changed:
        return _changed_member(member, [])
    after = msgspec.structs.replace(member, updated_at=tx.at, **changed)
    tx.members.update(after)
    data = {"name": after.name, "fields": sorted(changed)}
    if "name" not in changed:
        tx.log(NewEvent(EventKind.MEMBER_CHANGED, member.id, project.id, data), actor=caller.name)
        return _changed_member(after, [])
    tx.log(NewEvent(EventKind.MEMBER_CHANGED, member.id, project.id, data | {"was": member.name}), actor=caller.name)
    after = msgspec.structs.replace(after, mail_id=f"@{after.name}")
    return _changed_member(after, _open_task_warnings(tx, member))


def archive_member(tx: Tx, caller: Caller, request: ops.OneMember) -> ops.ChangedMember:
    """Archive a member. Record, mail and teams stay, but the member no longer leads a team."""
    member, project = _changeable_member(tx, caller, request, action="archive members")
    warnings = [*_open_task_warnings(tx, member), *_session_and_mailbox_warnings(tx, member)]
    for team in tx.members.teams.led_by(member.id):
        tx.members.teams.set_leader(team.id, None)
        team_data = {"name": team.name, "leader": None}
        tx.log(NewEvent(EventKind.TEAM_CHANGED, team.id, project.id, team_data), actor=caller.name)
        warnings.append(
            f"Team {team.name} has no leader now. Name a leader: maestro team add {team.name} --leader MEMBER"
        )
    tx.members.archive(member.id, at=tx.at)
    data = {"name": member.name, "fields": ["archived"]}
    tx.log(NewEvent(EventKind.MEMBER_CHANGED, member.id, project.id, data), actor=caller.name)
    return _changed_member(msgspec.structs.replace(member, archived=True, updated_at=tx.at), warnings)


def find_member(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Member:
    """Return the member with an id, archived or not, or the present member with a name in the project at hand."""
    name = ref.strip().removeprefix("@").lower()
    if ids.is_id(name, "mem"):
        member = tx.members.get(name)
    else:
        member = tx.members.by_name(find_project(tx, caller, project).id, name)
    if member is None:
        raise errors.NotFound(
            f"There is no member {ref!r}.",
            hint="List the members: maestro member list (with --archived also the archived members)",
        )
    return member


def require_present(member: Member) -> None:
    """Refuse a change of an archived member."""
    if member.archived:
        raise errors.Conflict(
            f"Member {member.name} ({member.id}) is archived.", hint="Create another member: maestro member create …"
        )


def _changeable_member(tx: Tx, caller: Caller, request: ops.OneMember, *, action: str) -> tuple[Member, Project]:
    """Return a member and its project, if the caller may change the member."""
    member = find_member(tx, caller, request.id, project=request.project)
    project = find_project(tx, caller, member.project_id)
    require_own_project(caller, project, action=action)
    require_present(member)
    return member, project


def _free_name(tx: Tx, project: Project, text: str) -> str:
    name = members.normalize_name(text)
    existing = tx.members.by_name(project.id, name)
    if existing is not None:
        raise errors.NameTaken(
            f"Project {project.name} already has a member {name!r}.",
            hint=f"Choose another name, or change the existing member: maestro member edit {name} …",
            data={"id": existing.id},
        )
    return name


def _given_fields(
    tx: Tx, caller: Caller, request: ops.EditMember, member: Member, project: Project
) -> dict[str, Any]:
    """Return the fields given in a request, with the values for the record."""
    given_fields: dict[str, Any] = {}
    if request.name is not None:
        is_same_name = request.name.lower() == member.name
        given_fields["name"] = member.name if is_same_name else _free_name(tx, project, request.name)
    for name in ("role", "avatar"):
        if (text := getattr(request, name)) is not None:
            given_fields[name] = text.strip()
    if request.identity is not None:
        given_fields["identity"] = request.identity
    if request.skills is not None:
        given_fields["skills"] = _distinct_texts(request.skills)
    if request.model is not None:
        given_fields["model"] = request.model.strip() or None
    if request.tool is not None:
        given_fields["tool"] = request.tool or None
    if request.permission is not None:
        given_fields["permission"] = Permission(request.permission) if request.permission else None
    if request.allow is not None or request.deny is not None:
        before = (member.allow, member.deny)
        allow, deny = rights.resolve_rights(caller, allow=request.allow, deny=request.deny, before=before)
        given_fields |= {"allow": allow, "deny": deny}
    return given_fields


def _open_task_warnings(tx: Tx, member: Member) -> list[str]:
    """Return a warning about open tasks that name the member.

    A task stores the member's name at the time of writing, so a renamed or archived member leaves old names in tasks.
    """
    count = tx.members.count_open_tasks(member)
    if not count:
        return []
    verb = "is" if count == 1 else "are"
    return [
        f"{_format_count(count, 'open task')} {verb} still assigned to {member.name}. "
        "Assign to another member: maestro task edit … --member"
    ]


def _session_and_mailbox_warnings(tx: Tx, member: Member) -> list[str]:
    """Return warnings about the live sessions and the unread mail of a member that is being archived.

    An archived member gets no new mail, and only its live sessions can read the mail in its mailbox.
    """
    live_sessions = len(tx.sessions.ids_of_member(member.id, limit=limits.page_items_max))
    unread = tx.deliveries.count_open(member.id, reader="")
    warnings = (
        [
            f"{_format_count(live_sessions, 'live session')} still {'works' if live_sessions == 1 else 'work'} "
            f"as {member.name}."
        ]
        if live_sessions
        else []
    )
    if unread:
        warnings.append(
            f"{_format_count(unread, 'message')} in the mailbox of {member.name} "
            f"{'is' if unread == 1 else 'are'} unread."
        )
    return warnings


def _changed_member(member: Member, warnings: list[str]) -> ops.ChangedMember:
    return ops.ChangedMember(**msgspec.structs.asdict(member), warnings=warnings)


def _distinct_texts(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts))


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
