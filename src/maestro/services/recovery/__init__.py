"""Recover sessions that ended by accident, and report the sessions and runs that the server found at its start."""
