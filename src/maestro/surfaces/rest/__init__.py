"""The REST surface under /api, derived from the registry: JSON, and the event log as server-sent events."""
