"""A throw-away tool for tests: a program that repeats every prompt."""
