"""Ways in: thin, equal, and independent of each other. Each parses, calls one operation and renders."""
