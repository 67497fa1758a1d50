"""Background jobs of the server. Each module holds a single job, and each round of a job does a bounded batch."""
