"""Two trees measured against each other: `make bench BASE=COMMIT`."""
