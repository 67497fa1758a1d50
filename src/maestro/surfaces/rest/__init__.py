"""HTTP under /api, derived from the registry: JSON in, JSON out, and the log as server-sent events."""
