"""Benchmarks. Most figures are ratios of cases that alternate in the same run. `make bench` runs all benchmarks."""
