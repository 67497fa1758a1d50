"""SQLite in WAL mode: one writer that commits for many, readers apart."""

from maestro.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
