"""Answers as text: one function per type of answer. Knows no operation by name, and calls none."""
