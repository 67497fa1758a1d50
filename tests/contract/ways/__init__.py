"""The ways to call an operation. Each contract test of the surface runs over all of them."""
