"""The parts of a server: each noun contributes services, operations, background jobs and reactions in one module."""
