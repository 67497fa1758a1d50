"""Issue trackers: the interface, the built-in one, and Beads. Only here is known what a tracker prints."""
