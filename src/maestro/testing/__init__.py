"""What tests of Maestro, and of things built on it, share: factories, a clock that is told, signals."""
