"""Asks of agents to the person, their answers, and the person's notifications."""
