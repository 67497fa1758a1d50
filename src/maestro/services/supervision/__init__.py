"""Start, control and end the programs of sessions, through their runners."""
