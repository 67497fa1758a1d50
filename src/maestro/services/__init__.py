"""Use cases, the only writers. Each takes a transaction, the caller and the request."""
