"""Issue trackers: the interface, the built-in tracker, and Beads. No other folder knows the output of a tracker."""
