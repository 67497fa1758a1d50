"""Prompts of sessions: a manifest and a template become two prompts. Knows values and text files, not the store."""
