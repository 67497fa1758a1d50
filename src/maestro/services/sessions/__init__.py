"""Sessions as records: who is there, what each is doing, how they stand to each other."""
