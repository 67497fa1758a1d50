"""Tasks: create, edit and move tasks; their documents; claims that expire."""

from __future__ import annotations

from maestro.domain.events import EventKind
from maestro.operations import documents as document_ops
from maestro.operations import tasks as task_ops
from maestro.server.base import ServerBase
from maestro.server.dispatch import Binding, is_always_quick
from maestro.server.part import Part, PartJob
from maestro.server.parts.identity import IdentityPart
from maestro.server.parts.projects import ProjectPart
from maestro.server.parts.quotas import QuotaPart, within_quota
from maestro.services.quotas.quotas import Quotas
from maestro.services.tasks import dependencies, editing, moves
from maestro.services.tasks.documents import TaskDocuments
from maestro.services.tasks.expired_claims import ClaimExpiryJob
from maestro.services.tasks.waits import TaskWaits


class TaskPart(Part, frozen=True, kw_only=True):
    """The services for tasks."""

    documents: TaskDocuments
    claim_expiry: ClaimExpiryJob


def build_tasks(base: ServerBase, identity: IdentityPart, quotas: QuotaPart, projects: ProjectPart) -> TaskPart:
    documents = TaskDocuments(base.blobs)
    claim_expiry = ClaimExpiryJob(base.store, clock=base.clock)
    waits = TaskWaits(base.store, base.hub, identity.presence)
    return TaskPart(
        documents=documents,
        claim_expiry=claim_expiry,
        bindings={
            **_edit_bindings(quotas.quotas, projects),
            **_move_bindings(quotas.quotas),
            **_document_bindings(documents),
            task_ops.WAIT.name: Binding(waits.wait_for_tasks),
        },
        jobs=(
            PartJob(
                claim_expiry,
                runs_after=(EventKind.TASK_STARTED, EventKind.TASK_REJECTED, EventKind.TASK_UNBLOCKED),
                is_paced=True,
            ),
        ),
    )


def _edit_bindings(quotas: Quotas, projects: ProjectPart) -> dict[str, Binding]:
    make_names_known = projects.request_names.make_names_known
    return {
        task_ops.CREATE.name: Binding(
            within_quota(quotas.count_new_task, editing.create_task),
            before_write=make_names_known,
            is_quick=editing.is_simple_creation,
        ),
        task_ops.LIST.name: Binding(editing.list_tasks),
        task_ops.READY.name: Binding(editing.list_ready_tasks),
        task_ops.BLOCKED.name: Binding(editing.list_blocked_tasks),
        task_ops.TREE.name: Binding(editing.show_tree),
        task_ops.SHOW.name: Binding(editing.show_task),
        task_ops.CHILDREN.name: Binding(editing.list_children),
        task_ops.EDIT.name: Binding(within_quota(quotas.count_edited_task, editing.edit_task)),
        task_ops.REMOVE.name: Binding(editing.delete_task),
        task_ops.DEPEND.name: Binding(dependencies.change_dependencies, before_write=make_names_known),
    }


def _move_bindings(quotas: Quotas) -> dict[str, Binding]:
    return {
        task_ops.START.name: Binding(moves.start_task, is_quick=is_always_quick),
        task_ops.RELEASE.name: Binding(moves.release_task),
        task_ops.COMPLETE.name: Binding(moves.complete_task),
        task_ops.REJECT.name: Binding(moves.reject_task),
        task_ops.BLOCK.name: Binding(moves.block_task),
        task_ops.UNBLOCK.name: Binding(moves.unblock_task),
        task_ops.FAIL.name: Binding(moves.fail_task),
        task_ops.CANCEL.name: Binding(moves.cancel_task),
        task_ops.REOPEN.name: Binding(moves.reopen_task),
        task_ops.REPORT.name: Binding(within_quota(quotas.count_report, moves.report_task)),
    }


def _document_bindings(documents: TaskDocuments) -> dict[str, Binding]:
    return {
        document_ops.ADD.name: Binding(
            documents.add_document,
            check_upload=documents.check_addition,
            count_bytes=documents.quota_bytes,
            prepare_contents=documents.store_content,
        ),
        document_ops.LIST.name: Binding(documents.list_documents),
        document_ops.SHOW.name: Binding(documents.show_document),
        document_ops.GATE.name: Binding(documents.show_gate_output),
    }
