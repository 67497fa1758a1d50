"""Members: personas of a project that sessions can take on."""

from __future__ import annotations

from typing import Any

import msgspec

from maestro.core import errors, ids, limits
from maestro.domain import members
from maestro.domain.callers import Caller
from maestro.domain.events import Change, Kind
from maestro.domain.members import Member, Permission, Tool
from maestro.domain.projects import Project
from maestro.domain.sight import redact_member
from maestro.operations import members as ops
from maestro.services.members import rights
from maestro.services.scope import may_write, project_of
from maestro.store.base import Tx


def create(tx: Tx, caller: Caller, request: ops.CreateMember) -> Member:
    """A new member, under a name that no other has now."""
    project = project_of(tx, caller, request.project)
    may_write(caller, project, what="create members")
    name = _free_name(tx, project, request.name)
    allow, deny = rights.granted(caller, allow=request.allow, deny=request.deny)
    rights.require_within_grant(caller, tool=request.tool, permission=request.permission)
    member = Member(
        id=ids.new("mem", tx.at),
        project_id=project.id,
        name=name,
        role=request.role.strip(),
        identity=request.identity,
        avatar=request.avatar.strip(),
        mail_id=f"@{name}",
        skills=_distinct(request.skills),
        model=(request.model or "").strip() or None,
        tool=request.tool,
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
    tx.log(Change(Kind.MEMBER_CREATED, member.id, project.id, data), actor=caller.name)
    return member


def list_page(tx: Tx, caller: Caller, request: ops.ListMembers) -> ops.MemberList:
    project = project_of(tx, caller, request.project)
    after, _, after_id = request.cursor.partition("/")  # no name has a slash; an archived one may come twice
    found = tx.members.page(project.id, after=(after, after_id), limit=request.limit + 1, archived=request.archived)
    more = len(found) > request.limit
    found = [redact_member(caller, member) for member in found[: request.limit]]
    return ops.MemberList(members=found, cursor=f"{found[-1].name}/{found[-1].id}" if more else None)


def show(tx: Tx, caller: Caller, request: ops.OneMember) -> ops.MemberDetail:
    member = member_of(tx, caller, request.id, project=request.project)
    teams = tx.members.teams.of_member(member.id, limit=limits.page_items_max)
    live = tx.sessions.ids_of_member(member.id, limit=limits.page_items_max)
    return ops.MemberDetail(
        **msgspec.structs.asdict(redact_member(caller, member)),
        teams=[team.name for team in teams],
        leads=[team.name for team in teams if team.leader == member.name and not member.archived],
        sessions=[ops.LiveSession(id=session_id, name=name) for session_id, name in live],
    )


def edit(tx: Tx, caller: Caller, request: ops.EditMember) -> ops.ChangedMember:
    """Change what was given; the rest stays as it is."""
    member, project = _own(tx, caller, request, what="change members")
    given = _given(tx, caller, request, member, project)
    if not given:
        raise errors.Invalid(
            "Nothing to change was given.", hint="Say at least one of --role, --identity, --model, …"
        )
    changed = {name: value for name, value in given.items() if value != getattr(member, name)}
    rights.require_within_grant(caller, tool=changed.get("tool"), permission=changed.get("permission"))
    if not changed:
        return _told(member, [])
    after = msgspec.structs.replace(member, updated_at=tx.at, **changed)
    tx.members.edit(after)
    data = {"name": after.name, "fields": sorted(changed)}
    if "name" not in changed:
        tx.log(Change(Kind.MEMBER_CHANGED, member.id, project.id, data), actor=caller.name)
        return _told(after, [])
    tx.log(Change(Kind.MEMBER_CHANGED, member.id, project.id, data | {"was": member.name}), actor=caller.name)
    after = msgspec.structs.replace(after, mail_id=f"@{after.name}")
    return _told(after, _tasks_left(tx, member))


def archive(tx: Tx, caller: Caller, request: ops.OneMember) -> ops.ChangedMember:
    """Put a member out of sight. Its record, its mail and its place in teams stay; it leads none any more."""
    member, project = _own(tx, caller, request, what="archive members")
    warnings = [*_tasks_left(tx, member), *_box_left(tx, member)]
    for team in tx.members.teams.led_by(member.id):
        tx.members.teams.lead(team.id, None)
        led = {"name": team.name, "leader": None}
        tx.log(Change(Kind.TEAM_CHANGED, team.id, project.id, led), actor=caller.name)
        warnings.append(
            f"Team {team.name} has no leader now. Give it one: maestro team add {team.name} --leader MEMBER"
        )
    tx.members.archive(member.id, at=tx.at)
    data = {"name": member.name, "fields": ["archived"]}
    tx.log(Change(Kind.MEMBER_CHANGED, member.id, project.id, data), actor=caller.name)
    return _told(msgspec.structs.replace(member, archived=True, updated_at=tx.at), warnings)


def member_of(tx: Tx, caller: Caller, ref: str, *, project: str = "") -> Member:
    """The member a reference names: an id, also of one that is archived, or a present name in the project at hand."""
    name = ref.strip().removeprefix("@").lower()
    if ids.is_id(name, "mem"):
        member = tx.members.get(name)
    else:
        member = tx.members.by_name(project_of(tx, caller, project).id, name)
    if member is None:
        raise errors.NotFound(
            f"There is no member {ref!r}.",
            hint="`maestro member list` shows those there are, --archived also those that are archived.",
        )
    return member


def require_present(member: Member) -> None:
    """An archived member stays as it was."""
    if member.archived:
        raise errors.Conflict(
            f"Member {member.name} ({member.id}) is archived.", hint="Create another: maestro member create …"
        )


def _own(tx: Tx, caller: Caller, request: ops.OneMember, *, what: str) -> tuple[Member, Project]:
    """A member that the caller may change, with its project."""
    member = member_of(tx, caller, request.id, project=request.project)
    project = project_of(tx, caller, member.project_id)
    may_write(caller, project, what=what)
    require_present(member)
    return member, project


def _free_name(tx: Tx, project: Project, text: str) -> str:
    name = members.name_of(text)
    there = tx.members.by_name(project.id, name)
    if there is not None:
        raise errors.NameTaken(
            f"A member of {project.name} is already called {name!r}.",
            hint=f"Choose another name, or change that one: maestro member edit {name} …",
            data={"id": there.id},
        )
    return name


def _given(tx: Tx, caller: Caller, request: ops.EditMember, member: Member, project: Project) -> dict[str, Any]:
    """The fields that a request gives, as the record has them."""
    given: dict[str, Any] = {}
    if request.name is not None:
        same = request.name.lower() == member.name
        given["name"] = member.name if same else _free_name(tx, project, request.name)
    for name in ("role", "avatar"):
        if (text := getattr(request, name)) is not None:
            given[name] = text.strip()
    if request.identity is not None:
        given["identity"] = request.identity
    if request.skills is not None:
        given["skills"] = _distinct(request.skills)
    if request.model is not None:
        given["model"] = request.model.strip() or None
    if request.tool is not None:
        given["tool"] = Tool(request.tool) if request.tool else None
    if request.permission is not None:
        given["permission"] = Permission(request.permission) if request.permission else None
    if request.allow is not None or request.deny is not None:
        before = (member.allow, member.deny)
        allow, deny = rights.granted(caller, allow=request.allow, deny=request.deny, before=before)
        given |= {"allow": allow, "deny": deny}
    return given


def _tasks_left(tx: Tx, member: Member) -> list[str]:
    """Tasks name a member as it was called when they were written."""
    count = tx.members.open_tasks(member)
    if not count:
        return []
    are = "is" if count == 1 else "are"
    return [f"{_counted(count, 'open task')} {are} still meant for {member.name}: maestro task edit … --member"]


def _box_left(tx: Tx, member: Member) -> list[str]:
    """Nothing new reaches the box of an archived member; what lies there waits for its live sessions only."""
    live = len(tx.sessions.ids_of_member(member.id, limit=limits.page_items_max))
    unread = tx.deliveries.count_open(member.id, reader="")
    said = (
        [f"{_counted(live, 'live session')} still {'works' if live == 1 else 'work'} as {member.name}."]
        if live
        else []
    )
    if unread:
        said.append(f"{_counted(unread, 'message')} in its box {'is' if unread == 1 else 'are'} unread.")
    return said


def _told(member: Member, warnings: list[str]) -> ops.ChangedMember:
    return ops.ChangedMember(**msgspec.structs.asdict(member), warnings=warnings)


def _distinct(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(text.strip() for text in texts))


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
