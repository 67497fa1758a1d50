"""Helpers that tests of Maestro share: factories, clocks under control, live servers and test clients."""
