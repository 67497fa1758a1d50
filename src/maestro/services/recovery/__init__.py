"""Recover sessions that ended by accident, and report the sessions and runs that a new server found."""
