"""The composition of a server: the list of its parts, in the order in which they build on each other."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part
from maestro.server.parts.administration import build_administration
from maestro.server.parts.asks import build_asks
from maestro.server.parts.conversations import ConversationPart, build_conversations
from maestro.server.parts.events import build_events
from maestro.server.parts.hooks import HookPart, build_hooks
from maestro.server.parts.housekeeping import build_housekeeping
from maestro.server.parts.identity import IdentityPart, build_identity
from maestro.server.parts.issues import build_issues
from maestro.server.parts.mail import MailPart, build_mail
from maestro.server.parts.members import build_members
from maestro.server.parts.notifications import build_notifications
from maestro.server.parts.projects import ProjectPart, build_projects
from maestro.server.parts.quotas import QuotaPart, build_quotas
from maestro.server.parts.recovery import RecoveryPart, build_recovery
from maestro.server.parts.runners import RunnerPart, build_runners
from maestro.server.parts.runs import build_runs
from maestro.server.parts.sessions import SessionPart, build_sessions
from maestro.server.parts.storage import build_storage
from maestro.server.parts.supervision import SupervisionPart, build_supervision
from maestro.server.parts.tasks import TaskPart, build_tasks
from maestro.server.parts.trackers import build_trackers
from maestro.server.parts.worktrees import WorktreePart, build_worktrees


class Parts(msgspec.Struct, frozen=True):
    """The parts of one server. Each part uses only parts above it; the server closes the last part first."""

    identity: IdentityPart
    quotas: QuotaPart
    projects: ProjectPart
    members: Part
    tasks: TaskPart
    mail: MailPart
    issues: Part
    asks: Part
    notifications: Part
    runners: RunnerPart
    sessions: SessionPart
    hooks: HookPart
    conversations: ConversationPart
    worktrees: WorktreePart
    supervision: SupervisionPart
    runs: Part
    recovery: RecoveryPart
    trackers: Part
    events: Part
    storage: Part
    housekeeping: Part
    administration: Part

    def in_order(self) -> list[Part]:
        return [getattr(self, name) for name in self.__struct_fields__]


def build_parts(base: ServerBase) -> Parts:
    """Build every part of a server. The arguments of a builder show which parts it uses."""
    identity = build_identity(base)
    quotas = build_quotas(base)
    projects = build_projects(base)
    mail = build_mail(base, identity, quotas, projects)
    runners = build_runners(base)
    hooks = build_hooks(base, quotas, runners)
    conversations = build_conversations(base, runners, hooks)
    worktrees = build_worktrees(base, projects)
    supervision = build_supervision(base, identity, runners, worktrees, conversations, mail)
    return Parts(
        identity=identity,
        quotas=quotas,
        projects=projects,
        members=build_members(),
        tasks=build_tasks(base, identity, quotas, projects),
        mail=mail,
        issues=build_issues(mail, projects),
        asks=build_asks(base, identity, quotas),
        notifications=build_notifications(base),
        runners=runners,
        sessions=build_sessions(base, identity, quotas),
        hooks=hooks,
        conversations=conversations,
        worktrees=worktrees,
        supervision=supervision,
        runs=build_runs(base, projects, worktrees, supervision),
        recovery=build_recovery(base, identity, runners, supervision),
        trackers=build_trackers(base),
        events=build_events(base),
        storage=build_storage(base),
        housekeeping=build_housekeeping(base, mail),
        administration=build_administration(base),
    )


def collect_bindings(parts: Iterable[Part]) -> dict[str, Binding]:
    """Return the bindings of all parts by the operation's name. Two bindings of one operation are a fault."""
    bindings: dict[str, Binding] = {}
    for part in parts:
        twice = bindings.keys() & part.bindings.keys()
        assert not twice, f"two parts bind {', '.join(sorted(twice))}"
        bindings.update(part.bindings)
    return bindings
