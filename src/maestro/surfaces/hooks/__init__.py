"""Agents' hooks: a payload in, what to tell the agent out. Nothing that goes wrong here may hold an agent up."""
