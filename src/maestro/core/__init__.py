"""Errors, limits, ids and the clock. Every part of Maestro may import these modules."""
