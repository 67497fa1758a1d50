"""Signs of life of sessions, watched processes, and grace periods after a sleep of the machine."""
