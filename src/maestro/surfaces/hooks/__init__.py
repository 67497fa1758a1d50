"""The hook surface: read the payload of an agent's hook and return an answer. An error must never stop an agent."""
