"""What a session is told: a manifest and a template become two prompts. Knows values and files of text, no store."""
