"""Background jobs that only clean up: retention, space, logs, checks of the stored data."""
