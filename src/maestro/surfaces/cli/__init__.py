"""The server side of the command: parse the client's arguments, call an operation, render the answer."""
