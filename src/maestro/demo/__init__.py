"""`maestro demo`: a demonstration with its own server, repositories and agents, which it removes afterwards."""

from maestro.demo.play import main

__all__ = ["main"]
