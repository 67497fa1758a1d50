"""Random and mutated requests and frames."""
