"""TCP options for both sides of the proxy, by which it notices a peer that has vanished silently.

Nothing arrives from a laptop that was shut or a cable that was pulled; a model would go on for nobody.
"""

import socket

VANISHED_S = 120  # a client that does not read waiting data for this long counts as gone, too
OPTIONS = {
    "SO_KEEPALIVE": (socket.SOL_SOCKET, 1),
    "TCP_KEEPIDLE": (socket.IPPROTO_TCP, 30),
    "TCP_KEEPINTVL": (socket.IPPROTO_TCP, 15),
    "TCP_KEEPCNT": (socket.IPPROTO_TCP, 6),
    "TCP_USER_TIMEOUT": (socket.IPPROTO_TCP, VANISHED_S * 1000),
}


def notice_vanished(tcp: socket.socket) -> None:
    """Set those of OPTIONS that this system has. A listening socket passes them on to accepted connections."""
    for name, (level, value) in OPTIONS.items():
        if hasattr(socket, name):
            tcp.setsockopt(level, getattr(socket, name), value)
