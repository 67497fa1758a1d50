"""The programs of sessions: chosen, started, spoken with, stopped and started again."""
