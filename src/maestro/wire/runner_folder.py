"""The folder of a session in the data directory, and the files that a runner and the server share in it.

`SESSIONS` holds one folder per spawned session, named after the session's id.
"""

SESSIONS = "sessions"
EARLIER_SESSIONS = "runs"  # the name of the folder in earlier versions
CONTROL_SOCKET = "control.sock"  # the runner listens here
LOCK = "runner.lock"  # a live runner holds the lock
IDENTITY = "runner.json"  # the processes of the runner and its program
SPOOL = "spool.json"  # reports that no server has acknowledged
LOG = "runner.log"
TRANSCRIPT = "transcript.cast"
OLDER_TRANSCRIPT = "transcript-older.cast"
CONVERSATION_LOG = "conversation.jsonl"  # the raw bytes of the conversation, for the search for errors
OLDER_CONVERSATION_LOG = "conversation-older.jsonl"
TEMPORARY = "tmp"  # the program's own directory for temporary files
