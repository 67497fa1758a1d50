"""Render answers as text, with one function per type of answer. Knows no operation by name and calls none."""
