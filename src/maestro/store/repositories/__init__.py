"""The tables in domain words, the same for every driver."""
