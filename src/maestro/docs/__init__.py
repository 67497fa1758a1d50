"""Generate parts of docs/: the references of commands, permissions, errors and events, and the schema."""
