"""Runs as records; what a run does next is upkeep's."""
