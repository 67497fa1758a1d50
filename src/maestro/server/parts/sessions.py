"""Sessions: register, show, adopt and watch sessions. The part of supervision binds the end of a session."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from maestro.domain.events import EventKind
from maestro.operations import agents as agent_ops
from maestro.operations import files as file_ops
from maestro.operations import primer as primer_ops
from maestro.operations import session_settings as setting_ops
from maestro.operations import sessions as session_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob, Reaction
from maestro.server.parts.identity import IdentityPart
from maestro.server.parts.quotas import QuotaPart, within_quota
from maestro.services.access import client_files
from maestro.services.quotas.quotas import Quotas
from maestro.services.recovery.lost_sessions import LostSessionJob
from maestro.services.sessions import adoption, lifecycle, listing, primers, registration, rename, views
from maestro.services.sessions.agents import AgentViews
from maestro.services.sessions.lifecycle import Heartbeats
from maestro.services.sessions.presence_job import PresenceJob
from maestro.services.sessions.process_job import ProcessWatchJob
from maestro.services.sessions.stale_statuses import OldStatusJob
from maestro.services.sessions.views import SessionExplainer
from maestro.services.sessions.waits import SessionWaits
from maestro.services.tasks import session_report


class SessionPart(Part, frozen=True, kw_only=True):
    """The services for sessions."""

    process_watch: ProcessWatchJob


def build_sessions(base: ServerBase, identity: IdentityPart, quotas: QuotaPart) -> SessionPart:
    store, presence = base.store, identity.presence
    process_watch = ProcessWatchJob(
        store, presence, on_lease_shortened=lambda: base.background_jobs.nudge_job(LostSessionJob.name)
    )
    return SessionPart(
        process_watch=process_watch,
        bindings={
            session_ops.REGISTER.name: _bind_registration(quotas.quotas, base.secrets.session_token),
            session_ops.HEARTBEAT.name: Binding(Heartbeats(store).answer_heartbeat),
            session_ops.LIST.name: Binding(listing.list_page),
            session_ops.SHOW.name: Binding(views.show_session),
            session_ops.EXPLAIN.name: Binding(SessionExplainer(store, presence).explain_session),
            session_ops.WAIT.name: Binding(SessionWaits(store, base.hub, presence).wait_for_sessions),
            session_ops.REPORT.name: Binding(session_report.report_work),
            session_ops.ADOPT.name: Binding(adoption.adopt_sessions),
            setting_ops.RENAME.name: Binding(rename.rename_session),
            setting_ops.GRANT.name: Binding(lifecycle.set_grant),
            session_ops.WHOAMI.name: Binding(lifecycle.identify_caller),
            agent_ops.LIST.name: Binding(AgentViews(presence).list_agents),
            primer_ops.PRIMER.name: Binding(primers.read_primer),
            file_ops.CHECK.name: Binding(client_files.check_file),
        },
        jobs=(
            PartJob(PresenceJob(store, presence, clock=base.clock)),
            PartJob(OldStatusJob(store), runs_after=(EventKind.SESSION_STATUS_CHANGED,), is_paced=True),
            PartJob(
                process_watch,
                runs_after=(EventKind.SESSION_REGISTERED, EventKind.SESSION_ENDED, EventKind.SESSION_LOST),
                is_paced=True,
            ),
        ),
        reactions=(Reaction((EventKind.SESSION_RESUMED,), process_watch.forget_process_end),),
        close=(process_watch.close,),
    )


def _bind_registration(quotas: Quotas, token_of: Callable[[str], str]) -> Binding:
    """Return the binding of a registration. The stored answer of an idempotency key holds no token."""
    return Binding(
        within_quota(
            quotas.count_registration,
            lambda tx, caller, request: registration.register_session(tx, caller, request, token_of),
        ),
        hide_secret=lambda answer: msgspec.structs.replace(answer, token=""),
        restore_secret=lambda answer: msgspec.structs.replace(answer, token=token_of(answer.id)),
    )
