"""The command's server side: parses what the thin client sent, calls one operation, renders the answer."""
