"""See Maestro work."""
