"""Register, find and link projects, and decide which other projects may write to a project."""
