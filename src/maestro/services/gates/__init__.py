"""Run the gates of a task, and merge the work that passes."""
