"""The live side of the log: a hub that wakes whoever listens, and a feed that replays and then goes live."""
