"""The source of the native client, and the module that compiles the source."""
