"""The pinned versions of the real agent programs: their installation, and launches without the user's settings."""
