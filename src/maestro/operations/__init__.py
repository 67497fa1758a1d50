"""Declarations: one per operation. REST, OpenAPI, the command, help and the reference derive from them."""
