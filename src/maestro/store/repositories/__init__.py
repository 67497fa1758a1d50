"""The repositories: rows of the tables as domain values, the same for every driver."""
