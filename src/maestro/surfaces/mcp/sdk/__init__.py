"""The engine, which alone imports the SDK, and the interface that a transport gives to the engine."""
