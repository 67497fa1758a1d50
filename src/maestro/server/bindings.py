"""Which service does which operation. A test holds that each operation is bound exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from maestro.operations import documents as document_ops
from maestro.operations import projects as project_ops
from maestro.operations import server as server_ops
from maestro.operations import sessions as session_ops
from maestro.operations import tasks as task_ops
from maestro.server.dispatch import Binding
from maestro.services import dependencies, moves, projects, sessions, tasks

if TYPE_CHECKING:
    from maestro.server.app import Server


def bindings(server: Server) -> dict[str, Binding]:
    """Every operation by name, with what does it."""
    return {**_tasks(server), **_projects(server), **_sessions(server), **_server(server)}


def _always(request: object) -> bool:
    return True


def _tasks(server: Server) -> dict[str, Binding]:
    documents = server.documents
    return {
        task_ops.CREATE.name: Binding(tasks.create, quick=tasks.is_simple),
        task_ops.LIST.name: Binding(tasks.list_page),
        task_ops.READY.name: Binding(tasks.ready),
        task_ops.BLOCKED.name: Binding(tasks.blocked),
        task_ops.TREE.name: Binding(tasks.tree),
        task_ops.SHOW.name: Binding(tasks.show),
        task_ops.CHILDREN.name: Binding(tasks.children),
        task_ops.EDIT.name: Binding(tasks.edit),
        task_ops.START.name: Binding(moves.start, quick=_always),
        task_ops.RELEASE.name: Binding(moves.release),
        task_ops.COMPLETE.name: Binding(moves.complete),
        task_ops.REJECT.name: Binding(moves.reject),
        task_ops.BLOCK.name: Binding(moves.block),
        task_ops.UNBLOCK.name: Binding(moves.unblock),
        task_ops.FAIL.name: Binding(moves.fail),
        task_ops.CANCEL.name: Binding(moves.cancel),
        task_ops.REOPEN.name: Binding(moves.reopen),
        task_ops.REMOVE.name: Binding(tasks.delete),
        task_ops.DEPEND.name: Binding(dependencies.depend),
        task_ops.REPORT.name: Binding(moves.report),
        task_ops.WAIT.name: Binding(server.waits.wait),
        document_ops.ADD.name: Binding(documents.add, prepare=documents.prepare),
        document_ops.LIST.name: Binding(documents.list_of),
        document_ops.SHOW.name: Binding(documents.show),
    }


def _projects(server: Server) -> dict[str, Binding]:
    return {
        project_ops.INIT.name: Binding(server.places.init),
        project_ops.LOCATE.name: Binding(server.places.locate),
        project_ops.LIST.name: Binding(projects.list_page),
        project_ops.SHOW.name: Binding(projects.show),
        project_ops.EDIT.name: Binding(projects.edit),
    }


def _sessions(server: Server) -> dict[str, Binding]:
    token_of = server.secrets.session_token
    return {
        session_ops.REGISTER.name: Binding(
            lambda tx, caller, request: sessions.register(tx, caller, request, token_of),
            conceal=lambda answer: msgspec.structs.replace(answer, token=""),
            reveal=lambda answer: msgspec.structs.replace(answer, token=token_of(answer.id)),
        ),
        session_ops.HEARTBEAT.name: Binding(sessions.heartbeat, quick=_always),
        session_ops.END.name: Binding(sessions.end),
        session_ops.WHOAMI.name: Binding(sessions.whoami),
    }


def _server(server: Server) -> dict[str, Binding]:
    return {
        server_ops.STATUS.name: Binding(server.status),
        server_ops.STOP.name: Binding(server.stop),
        server_ops.BACKUP.name: Binding(server.backups.create),
        server_ops.EVENTS.name: Binding(server.log.page, stream=server.log.stream),
        server_ops.CONFIG_GET.name: Binding(server.config_get),
        server_ops.CONFIG_SET.name: Binding(server.config_set),
    }
