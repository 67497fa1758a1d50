"""What follows from an agent's hooks: its status, its mail, what it is told and what is held back."""
