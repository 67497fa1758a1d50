"""Keeping a project's issues and its tracker in step, beside everything else: no mail ever waits for it."""
