"""The client: the `maestro` command. `main` starts; the other modules are loaded when needed."""
