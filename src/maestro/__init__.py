"""Maestro: the coordination layer for coding agents."""

__version__ = "0.1.0"
