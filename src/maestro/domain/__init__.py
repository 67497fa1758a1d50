"""Pure rules. Nothing here does I/O, reads a clock or knows who stores it."""
