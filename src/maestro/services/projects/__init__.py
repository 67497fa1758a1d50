"""Projects: known, found, linked, and who may write to them."""
