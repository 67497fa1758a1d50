"""Find the objects that a request names, and check the caller's rights to them."""
