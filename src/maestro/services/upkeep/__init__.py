"""What keeps the store in order: one small job a file, each doing a bounded batch a round."""
