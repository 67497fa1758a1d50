"""Functions on texts, without I/O: bounded parsing, hiding of tokens, plain text from terminal output."""
