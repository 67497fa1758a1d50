"""The exchange between Maestro and running programs: pushes, turns, asks, events that runners report."""
