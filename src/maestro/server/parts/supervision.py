"""Supervision: spawn, launch, control, stop and resume the programs of sessions."""

from __future__ import annotations

from maestro.core import limits
from maestro.domain.events import EventKind
from maestro.domain.spawns import SpawnLimits
from maestro.operations import sessions as session_ops
from maestro.operations import spawning as spawn_ops
from maestro.operations import terminals as terminal_ops
from maestro.operations import tools as tool_ops
from maestro.operations.registry import REGISTRY
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding
from maestro.server.part import Part, PartJob
from maestro.server.parts.conversations import ConversationPart
from maestro.server.parts.identity import IdentityPart
from maestro.server.parts.mail import MailPart
from maestro.server.parts.runners import RunnerPart
from maestro.server.parts.worktrees import WorktreePart
from maestro.services.sessions import lifecycle
from maestro.services.supervision import control, tool_views
from maestro.services.supervision.background_starts import BackgroundStarts
from maestro.services.supervision.control import ProgramControl
from maestro.services.supervision.dismissal import DismissalJob
from maestro.services.supervision.launch import ProgramLauncher, ServerLocation
from maestro.services.supervision.runner_reports import RunnerReports
from maestro.services.supervision.spawn import Spawner
from maestro.services.supervision.stop import ProgramStopper
from maestro.services.supervision.template_views import TemplateViews
from maestro.services.supervision.terminals import Terminals
from maestro.store.layout import SOCKET


class SupervisionPart(Part, frozen=True, kw_only=True):
    """The services that start and stop programs."""

    launcher: ProgramLauncher
    stopper: ProgramStopper
    spawner: Spawner
    starts: BackgroundStarts


def build_supervision(
    base: ServerBase,
    identity: IdentityPart,
    runners: RunnerPart,
    worktrees: WorktreePart,
    conversations: ConversationPart,
    mail: MailPart,
) -> SupervisionPart:
    launcher = _build_launcher(base, runners, worktrees)
    launcher.on_runner_recorded = identity.identities.forget_processes
    stopper = ProgramStopper(runners.runners, launcher)
    spawner = _build_spawner(base, launcher)
    starts = BackgroundStarts(launcher, count_max=limits.starts_parallel_max)
    program_control = ProgramControl(
        base.store,
        base.hub,
        runners.runners,
        stopper,
        mail.receipt_waits,
        conversations.pusher,
        push_mail=conversations.push_job.push_to_session,
    )
    dismissal = DismissalJob(base.store, stopper, clock=base.clock, grace_seconds=base.settings.run_grace_seconds)
    return SupervisionPart(
        launcher=launcher,
        stopper=stopper,
        spawner=spawner,
        starts=starts,
        bindings={
            **_spawn_bindings(spawner),
            **_control_bindings(program_control),
            **_view_bindings(base, runners),
            spawn_ops.REPORT.name: Binding(RunnerReports(base.secrets.runner_secret).accept_report),
        },
        jobs=(
            PartJob(
                dismissal,
                runs_after=(EventKind.SESSION_ENDED, EventKind.RUN_ATTEMPT, EventKind.RUN_ENDED),
                is_paced=True,
            ),
        ),
        close=(starts.close, launcher.close),
    )


def _build_launcher(base: ServerBase, runners: RunnerPart, worktrees: WorktreePart) -> ProgramLauncher:
    location = ServerLocation(base.home, str(base.home.absolute() / SOCKET), lambda: base.state.url)
    return ProgramLauncher(
        base.store,
        runners.runners,
        worktrees.worktrees,
        location,
        token_of=base.secrets.session_token,
        runner_secret_of=base.secrets.runner_secret,
    )


def _build_spawner(base: ServerBase, launcher: ProgramLauncher) -> Spawner:
    operations = list(REGISTRY.values())
    bounds = SpawnLimits(
        depth_max=base.settings.spawn_depth,
        of_one_coordinator_max=base.settings.spawns_per_coordinator,
        of_one_project_max=base.settings.spawns_per_project,
    )
    return Spawner(
        base.store,
        base.hub,
        launcher,
        base.home,
        token_of=base.secrets.session_token,
        operations=lambda: operations,
        bounds=bounds,
    )


def _spawn_bindings(spawner: Spawner) -> dict[str, Binding]:
    return {
        spawn_ops.SPAWN.name: Binding(
            spawner.spawn_session, before_write=spawner.check_spawn, after_commit=spawner.launch_program
        ),
        spawn_ops.RESUME.name: Binding(spawner.resume_session, after_commit=spawner.launch_program),
    }


def _control_bindings(program_control: ProgramControl) -> dict[str, Binding]:
    return {
        session_ops.END.name: Binding(lifecycle.end_session, after_commit=program_control.stop_ended_session),
        spawn_ops.PROMPT.name: Binding(control.send_prompt, after_commit=program_control.push_prompt),
        spawn_ops.PROMPTS.name: Binding(program_control.show_prompts),
        spawn_ops.INTERRUPT.name: Binding(program_control.interrupt_session),
        spawn_ops.STOP.name: Binding(program_control.stop_session),
        spawn_ops.MANIFEST.name: Binding(control.read_manifest),
    }


def _view_bindings(base: ServerBase, runners: RunnerPart) -> dict[str, Binding]:
    terminals, templates = Terminals(base.store, runners.runners), TemplateViews(base.store)
    return {
        terminal_ops.LOGS.name: Binding(terminals.read_logs),
        terminal_ops.ATTACH.name: Binding(terminals.find_terminal),
        spawn_ops.TEMPLATES.name: Binding(templates.list_templates),
        spawn_ops.TEMPLATE.name: Binding(templates.show_template),
        tool_ops.LIST.name: Binding(tool_views.list_tools),
    }
