"""Formats that cross the boundary between two processes of Maestro. Standard library only, for runners."""
