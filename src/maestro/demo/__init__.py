"""`maestro demo`: see it work, with a server, a repository and agents of its own that vanish afterwards."""

from maestro.demo.play import main

__all__ = ["main"]
