"""The real agent programs, pinned: installing them, and starting each with nothing of the user's own."""
