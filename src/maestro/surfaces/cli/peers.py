"""Find the process at the other end of a Unix socket, as the operating system attests it."""

from __future__ import annotations

import socket
import struct
import sys
from typing import Protocol

from maestro.operations.app import SocketPeer

_CREDENTIALS = struct.Struct("3i")  # Linux struct ucred: pid, uid, gid
# macOS <sys/un.h>, <sys/ucred.h>: the socket module does not define all of these constants.
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 0x001, 0x002
_XUCRED = struct.Struct("IIh16I")
_XUCRED_VERSION = 0
_PID = struct.Struct("i")


class PeerSocket(Protocol):
    """The part of a socket that this module needs; asyncio and uvloop offer no more."""

    def getsockopt(self, level: int, name: int, size: int, /) -> bytes: ...


def find_peer(sock: PeerSocket | None) -> SocketPeer | None:
    """Return the process that connected; None if the system does not tell."""
    if sock is None:
        return None
    try:
        return _read_on_mac(sock) if sys.platform == "darwin" else _read_on_linux(sock)
    except (OSError, struct.error):
        return None


def _read_on_linux(sock: PeerSocket) -> SocketPeer | None:
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    pid, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    # A pid of 0 is a process outside our namespace, whose ancestors cannot be read.
    return SocketPeer(uid=uid, pid=pid) if pid > 0 else None


def _read_on_mac(sock: PeerSocket) -> SocketPeer | None:
    version, uid, *_ = _XUCRED.unpack(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size))
    (pid,) = _PID.unpack(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, _PID.size))
    return SocketPeer(uid=uid, pid=pid) if version == _XUCRED_VERSION and pid > 0 else None
