"""The ways in that one body of tests is run over."""
