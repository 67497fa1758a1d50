"""Connect to a socket whose path is too long for a socket address."""

# The module must not import pathlib:
# ruff: noqa: PTH109

import _socket
import os

from maestro.client.main import SOCKET_NAME_BYTES_MAX


def connect_by_bare_name(sock: _socket.socket, path: bytes) -> None:
    """Connect by the bare name from the socket's directory: the path is too long for a socket address."""
    directory, _, name = path.rpartition(b"/")
    if len(name) > SOCKET_NAME_BYTES_MAX:
        raise OSError(0, f"the socket's name is longer than {SOCKET_NAME_BYTES_MAX} bytes")
    present: int | bytes
    try:
        present = os.open(".", os.O_RDONLY)
    except OSError:
        present = os.getcwdb()  # the user may enter the directory, but not list it
    try:
        os.chdir(directory or b"/")
        sock.connect(name)
    finally:
        os.chdir(present)
        if isinstance(present, int):
            os.close(present)
