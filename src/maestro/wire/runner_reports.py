"""The kinds of reports of a runner about its program. Reports of an earlier version may wait in a spool.

`tools/conversation_events.py` declares the other reports: the events of a conversation.
"""

STARTED = "started"
EXITED = "exited"
HEARTBEAT = "beat"  # a sign of life, which no spool keeps
BY_SIGNAL = "signal"  # the value of `asked` in EXITED if a signal from outside Maestro stopped the runner
