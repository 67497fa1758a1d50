"""The tracker Beads, through its program `bd`.

Only `program.py` runs `bd`; commands, generations and shapes are pure.
"""
