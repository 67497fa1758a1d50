"""Run the command with a server on another machine (MAESTRO_SERVER_URL), over the server's HTTP API.

The commands and their output are the same. The start is slower than with a local server,
because this process parses commands and renders answers.
"""

from maestro.client.remote.run import run

__all__ = ["run"]
