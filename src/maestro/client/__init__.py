"""The `maestro` command's side of the socket. `thin` is what runs; the rest is loaded when needed."""
