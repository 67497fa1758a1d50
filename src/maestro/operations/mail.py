"""Mail: send, read, wait for, search and confirm messages."""

from __future__ import annotations

from maestro.core.errors import (
    Ambiguous,
    Conflict,
    Looping,
    NotConfirmed,
    NotFound,
    NotPermitted,
    TimedOut,
    TooFast,
    TooLarge,
)
from maestro.domain.callers import Callers
from maestro.operations import mail_shapes as shapes
from maestro.operations.base import GET, POST, CommandSyntax, Effect, Operation

_SENDING = (NotFound, Ambiguous, NotPermitted, TooLarge, TooFast, NotConfirmed)

SEND = Operation(
    "mail.send",
    shapes.SendMail,
    shapes.SentMail,
    callers=Callers.KNOWN,
    http=POST("/api/mail"),
    summary="Send a message; the message is stored before the command answers.",
    effect=Effect.WRITE,
    command=CommandSyntax("mail send", ("to",)),
    examples=(
        'maestro mail send parser --subject "Grammar changed" --message "Rebase before you go on."',
        'maestro mail send --to-coordinator --type query --subject "Which port?" --message "8080 is taken."',
        "maestro mail send vc --subject Crash --message-file report.md --attach core.log --wait-for read",
    ),
    errors=_SENDING,
)
POST_TO_PROJECT = Operation(
    "mail.post",
    shapes.PostToProject,
    shapes.SentMail,
    callers=Callers.KNOWN,
    http=POST("/api/projects/{project}/messages"),
    summary="Send a message to a project's inbox.",
    effect=Effect.WRITE,
    errors=_SENDING,
)
BROADCAST = Operation(
    "mail.broadcast",
    shapes.BroadcastMail,
    shapes.SentMail,
    callers=Callers.KNOWN,
    http=POST("/api/mail/broadcast"),
    summary="Send one message to many sessions.",
    effect=Effect.WRITE,
    command=CommandSyntax("mail broadcast"),
    examples=('maestro mail broadcast --scope my-workers --subject Freeze --message "No more pushes."',),
    errors=(NotFound, NotPermitted, TooLarge, TooFast),
)
INBOX = Operation(
    "mail.inbox",
    shapes.ReadInbox,
    shapes.InboxPage,
    callers=Callers.KNOWN,
    http=GET("/api/mail/inbox"),
    summary="Read unread messages, most urgent first; messages shown whole count as read.",
    effect=Effect.ACTION,
    command=CommandSyntax("mail inbox"),
    examples=("maestro mail inbox", "maestro mail inbox --thread", "maestro mail inbox --all --type query"),
    errors=(NotFound, NotPermitted),
)
WAIT = Operation(
    "mail.wait",
    shapes.WaitMail,
    shapes.InboxPage,
    callers=Callers.KNOWN,
    http=POST("/api/mail/wait"),
    summary="Block until mail arrives; a burst comes back as one answer.",
    effect=Effect.ACTION,
    command=CommandSyntax("mail wait"),
    examples=("maestro mail wait --timeout 5m", "maestro mail wait --count 3 --type notification"),
    errors=(NotFound, TimedOut),
)
SHOW = Operation(
    "mail.show",
    shapes.OneMessage,
    shapes.MessageDetail,
    callers=Callers.KNOWN,
    http=GET("/api/mail/{id}"),
    summary="Show a whole message and its receipts.",
    effect=Effect.SCAN,
    command=CommandSyntax("mail show", ("id",)),
    examples=("maestro mail show msg_01…",),
    errors=(NotFound,),
)
THREAD = Operation(
    "mail.thread",
    shapes.OneThread,
    shapes.Thread,
    callers=Callers.KNOWN,
    http=GET("/api/mail/thread/{id}"),
    summary="Show a whole thread, by any of its messages.",
    effect=Effect.SCAN,
    command=CommandSyntax("mail thread", ("id",)),
    examples=("maestro mail thread msg_01…",),
    errors=(NotFound,),
)
CLAIM = Operation(
    "mail.claim",
    shapes.OneThread,
    shapes.ThreadClaim,
    callers=Callers.KNOWN,
    http=POST("/api/mail/thread/{id}/claim"),
    summary="Claim a thread of a project's inbox; the first claim wins.",
    effect=Effect.WRITE,
    command=CommandSyntax("mail claim", ("id",)),
    examples=("maestro mail claim msg_01…",),
    errors=(NotFound, NotPermitted, Conflict),
)
RELEASE = Operation(
    "mail.release",
    shapes.OneThread,
    shapes.ThreadClaim,
    callers=Callers.KNOWN,
    http=POST("/api/mail/thread/{id}/release"),
    summary="Give a claimed thread back.",
    effect=Effect.WRITE,
    command=CommandSyntax("mail release", ("id",)),
    examples=("maestro mail release msg_01…",),
    errors=(NotFound, Conflict),
)
REPLY = Operation(
    "mail.reply",
    shapes.ReplyMail,
    shapes.SentMail,
    callers=Callers.KNOWN,
    http=POST("/api/mail/{id}/reply"),
    summary="Answer a message in its thread; the answer acknowledges the message.",
    effect=Effect.WRITE,
    command=CommandSyntax("mail reply", ("id",)),
    examples=('maestro mail reply msg_01… --message "Use 8081."',),
    errors=(*_SENDING, Looping),
)
ACK = Operation(
    "mail.ack",
    shapes.AcknowledgeMail,
    shapes.AcknowledgedMail,
    callers=Callers.KNOWN,
    http=POST("/api/mail/ack"),
    summary="Acknowledge messages.",
    effect=Effect.WRITE,
    command=CommandSyntax("mail ack", ("ids",)),
    examples=("maestro mail ack msg_01…",),
    errors=(NotFound,),
)
STATUS = Operation(
    "mail.status",
    shapes.OneMessage,
    shapes.MailStatus,
    callers=Callers.KNOWN,
    http=GET("/api/mail/{id}/status"),
    summary="Show the delivery status of a message for each recipient.",
    effect=Effect.READ,
    command=CommandSyntax("mail status", ("id",)),
    examples=("maestro mail status msg_01…",),
    errors=(NotFound,),
)
SENT = Operation(
    "mail.sent",
    shapes.SentPage,
    shapes.SentList,
    callers=Callers.KNOWN,
    http=GET("/api/mail/sent"),
    summary="List messages you sent, with their delivery status.",
    effect=Effect.READ,
    command=CommandSyntax("mail sent"),
    examples=("maestro mail sent",),
)
SEARCH = Operation(
    "mail.search",
    shapes.SearchMail,
    shapes.MessageList,
    callers=Callers.KNOWN,
    http=GET("/api/mail/search"),
    summary="Search messages by words, newest first.",
    effect=Effect.ACTION,
    command=CommandSyntax("mail search", ("query",)),
    examples=("maestro mail search deadlock", "maestro mail search '\"lock order\" pool*'"),
    errors=(NotFound, NotPermitted),
)
ATTACHMENT = Operation(
    "mail.attachment",
    shapes.OneAttachment,
    shapes.AttachmentContent,
    callers=Callers.KNOWN,
    http=GET("/api/attachments/{id}"),
    summary="Print a file that came with a message.",
    effect=Effect.SCAN,
    command=CommandSyntax("mail attachment", ("id",)),
    examples=("maestro mail attachment att_01…",),
    errors=(NotFound,),
)
PROJECT_INBOX = Operation(
    "mail.project_inbox",
    shapes.ProjectInbox,
    shapes.InboxPage,
    callers=Callers.KNOWN,
    http=GET("/api/projects/{project}/inbox"),
    summary="Show a project's inbox without marking messages read.",
    effect=Effect.READ,
    command=CommandSyntax("mail project"),
    examples=("maestro mail project", "maestro mail project --project vc --all"),
    errors=(NotFound, NotPermitted),
)
OF_TASK = Operation(
    "mail.of_task",
    shapes.TaskMail,
    shapes.MessageList,
    callers=Callers.KNOWN,
    http=GET("/api/tasks/{id}/mail"),
    summary="List all mail about a task, newest first.",
    effect=Effect.READ,
    command=CommandSyntax("task mail", ("id",)),
    examples=('maestro task mail "#4"',),
    errors=(NotFound,),
)
CONFIRM = Operation(
    "mail.confirm",
    shapes.ConfirmReceipt,
    shapes.ConfirmedReceipt,
    callers=Callers.KNOWN,
    http=POST("/api/mail/confirm"),
    summary="Confirm that the messages of an inbox answer were shown.",
    effect=Effect.WRITE,
    errors=(NotFound,),
)

ALL = (
    SEND,
    POST_TO_PROJECT,
    BROADCAST,
    INBOX,
    WAIT,
    SHOW,
    THREAD,
    CLAIM,
    RELEASE,
    REPLY,
    ACK,
    STATUS,
    SENT,
    SEARCH,
    ATTACHMENT,
    PROJECT_INBOX,
    OF_TASK,
    CONFIRM,
)
