"""The server's connection to runners, and to the process that forks them."""
