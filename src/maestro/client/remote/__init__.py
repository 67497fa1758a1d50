"""The command against a server elsewhere (MAESTRO_SERVER_URL): the same surface, here, over that server's API.

Slower to start than the thin client, for it parses and renders by itself; nothing else differs.
"""

from maestro.client.remote.run import run

__all__ = ["run"]
