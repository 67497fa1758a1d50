"""Random and mutated requests and frames for fuzz tests."""
