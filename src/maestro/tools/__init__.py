"""Agent programs (tools): one folder per tool. This package starts no process; the runner does."""
