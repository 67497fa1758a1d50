"""Tasks: making, moving and waiting for them, and all that follows from a move."""
