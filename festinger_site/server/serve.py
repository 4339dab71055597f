"""The proxy's server, ``python -m festinger_site.server.serve``: uvicorn with one process or several on one socket."""

import argparse
import socket
import sys

import uvicorn
from uvicorn.supervisors import Multiprocess

from festinger_site import settings
from festinger_site.server.http_protocol import ExactProtocol
from festinger_site.server.shutdown import end_on_signals
from proxy.upstream.keepalive import notice_vanished

APPLICATION = "festinger_site.asgi:application"
BACKLOG = 2048


def main(words: list[str]) -> None:
    asked = parser().parse_args(words)
    run(asked.application, listeners(asked.host, asked.port), asked.workers)


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("application", nargs="?", default=APPLICATION)
    found.add_argument("--host", default=settings.FESTINGER_HOST)
    found.add_argument("--port", type=int, default=settings.FESTINGER_PORT)
    found.add_argument("--workers", type=int, default=settings.FESTINGER_WORKERS)
    return found


def run(application: str, sockets: list[socket.socket], workers: int) -> None:
    """Serves until a signal, and returns, or ends the process, when all requests are answered."""
    settled = configuration(application, workers)
    if workers > 1:
        Multiprocess(settled, sockets).run()
    else:
        uvicorn.Server(settled).run(sockets)


class Configuration(uvicorn.Config):
    def load(self) -> None:
        with end_on_signals():
            super().load()


def configuration(application: str, workers: int) -> Configuration:
    return Configuration(
        application,
        workers=workers,
        loop="uvloop",
        http=ExactProtocol,
        ws="none",
        lifespan="on",
        backlog=BACKLOG,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # not believed: who counts as local is decided on the real peer
        timeout_keep_alive=120,  # longer than clients keep an idle connection: they close it, and none is lost
        timeout_graceful_shutdown=5,
        timeout_worker_healthcheck=30,  # a worker that only has to wait for the processor is not to be replaced
    )


def listeners(host: str, port: int) -> list[socket.socket]:
    """A bound socket for each address of the host; the server listens when it is ready. Ends the process where an
    address cannot be used."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        return [bind_socket(family, address) for family, _, _, _, address in found]
    except OSError as error:
        sys.exit(f"cannot listen on {host}, port {port}: {error.strerror or error}")


def bind_socket(family: int, address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> socket.socket:
    tcp = socket.socket(family, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        tcp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
    notice_vanished(tcp)
    tcp.bind(address)
    return tcp


if __name__ == "__main__":
    main(sys.argv[1:])
