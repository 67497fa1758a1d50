"""Display names of mailboxes, for people, in place of ids."""

from __future__ import annotations

from maestro.domain.messages import HUMAN_MAILBOX
from maestro.store.base import Tx


def mailbox_name(tx: Tx, mailbox: str) -> str:
    """Return the name of a mailbox as a sender writes it in an address."""
    match mailbox[:4]:
        case "ses_":
            route = tx.sessions.mail_route(mailbox)
            return route.name if route else mailbox
        case "mem_":
            member = tx.members.get(mailbox)
            return f"@{member.name}" if member else mailbox
        case "wsp_":
            workspace = tx.projects.get_workspace(mailbox)
            return workspace.address if workspace else mailbox
        case "prj_":
            project = tx.projects.get(mailbox)
            return project.name if project else mailbox
    return HUMAN_MAILBOX if mailbox == HUMAN_MAILBOX else mailbox
