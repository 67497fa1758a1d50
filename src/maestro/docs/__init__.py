"""Writes the generated parts of docs/: the reference of commands and of the API, and the schema."""
