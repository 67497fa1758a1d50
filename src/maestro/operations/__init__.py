"""The registry: one declaration per operation. REST, OpenAPI, the command, its help and the reference follow."""
