"""The interfaces of the server, independent of each other. Each parses a request, calls one operation and renders."""
