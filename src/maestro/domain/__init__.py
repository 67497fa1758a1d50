"""Values and pure rules. The modules do no I/O, read no clock and do not know the store."""
