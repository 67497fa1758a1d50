"""The exit codes of the `maestro` command, for the server and the clients in Python and C."""

DONE = 0
FAILED = 1
USAGE = 2
TIMED_OUT = 3
NOT_PERMITTED = 4
CONFLICT = 5
NOT_FOUND = 6
NOT_CONFIRMED = 7
NO_SERVER = 8
# As shells report a program that SIGINT or SIGPIPE ended.
INTERRUPTED = 130
CLOSED_PIPE = 141
