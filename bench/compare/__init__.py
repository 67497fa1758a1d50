"""The comparison of two trees: `make bench BASE=COMMIT`."""
