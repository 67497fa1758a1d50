"""Figures as ratios, measured in one run with the cases alternated. `make bench` runs them all."""
