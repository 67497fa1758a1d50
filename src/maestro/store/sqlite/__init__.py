"""The store on SQLite in WAL mode: one writer that commits for many callers, and separate readers."""

from maestro.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
