"""Display names of mailboxes, for people, in place of ids."""

from __future__ import annotations

from maestro.domain.messages import HUMAN
from maestro.store.base import Tx


def label(tx: Tx, box: str) -> str:
    """Return the name of a mailbox as a sender writes it in an address."""
    match box[:4]:
        case "ses_":
            route = tx.sessions.route(box)
            return route.name if route else box
        case "mem_":
            member = tx.members.get(box)
            return f"@{member.name}" if member else box
        case "wsp_":
            workspace = tx.projects.workspace(box)
            return workspace.address if workspace else box
        case "prj_":
            project = tx.projects.get(box)
            return project.name if project else box
    return HUMAN if box == HUMAN else box
