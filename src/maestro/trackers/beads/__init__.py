"""Beads, through its program `bd`: generations, commands and shapes are pure; `program.py` alone runs it."""
