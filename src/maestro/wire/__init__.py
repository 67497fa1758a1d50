"""What crosses the boundary between two processes of Maestro. Standard library only: a runner imports this too."""
