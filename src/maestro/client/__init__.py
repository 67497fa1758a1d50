"""The client: the `maestro` command. `thin` starts; the other modules are loaded when needed."""
