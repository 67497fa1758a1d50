"""Create, move and wait for tasks, and apply the consequences of each move."""
