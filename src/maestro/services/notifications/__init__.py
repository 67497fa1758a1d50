"""Notify the person about asks, and about agents that are lost, have failed or are blocked."""
