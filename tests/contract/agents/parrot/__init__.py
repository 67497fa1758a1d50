"""A tool for tests only: a program that repeats every prompt."""
