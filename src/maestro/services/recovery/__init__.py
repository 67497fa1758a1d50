"""What is done about sessions that ended by accident, and what was found after a restart."""
