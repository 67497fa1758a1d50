"""What is known about each agent program, one file each. Nothing here starts a process: that is the runner's."""
