"""The native client's source, and how it is compiled."""
