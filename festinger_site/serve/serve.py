"""The proxy's server, ``python -m festinger_site.serve.serve``: uvicorn with one process or several on one socket."""

import argparse
import socket
import sys

import uvicorn
from uvicorn.supervisors import multiprocess

from festinger_site import settings
from festinger_site.run import preflight
from festinger_site.serve.http_protocol import ExactProtocol
from festinger_site.serve.shutdown import end_on_signals
from proxy.upstream.keepalive import notice_vanished

APPLICATION = "festinger_site.asgi:application"
BACKLOG = 2048


def main(words: list[str]) -> None:
    """Serve until a signal; return, or end the process, when all requests are answered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("application", nargs="?", default=APPLICATION)
    parser.add_argument("--host", default=settings.FESTINGER_HOST)
    parser.add_argument("--port", type=int, default=settings.FESTINGER_PORT)
    parser.add_argument("--workers", type=int, default=settings.FESTINGER_WORKERS)
    asked = parser.parse_args(words)
    if not settings.IS_LAUNCHED:  # the launcher has checked it
        try:
            preflight.check_exposure(settings.ENVIRONMENT, asked.host)
        except preflight.LaunchFailed as failed:
            sys.exit(str(failed))
    configuration = Configuration(
        asked.application,
        workers=asked.workers,
        loop="uvloop",
        http=ExactProtocol,
        ws="none",
        # With "auto", a failed start would count as an application without a lifespan, and be served.
        lifespan="on",
        backlog=BACKLOG,
        # The proxy logs a line of its own for each prompt.
        access_log=False,
        log_config=settings.LOGGING,
        # uvicorn would add its own to the upstream's answers, which must stay as they are.
        server_header=False,
        # Not trusted: only the real peer decides who counts as local.
        proxy_headers=False,
        # Longer than clients keep an idle connection: they close it, and no request is lost on a closed one.
        timeout_keep_alive=120,
        # Less than the supervisor waits before it kills (run/programs.py): buffered rows are written afterwards.
        timeout_graceful_shutdown=5,
        # Do not replace a worker that only waits for the processor.
        timeout_worker_healthcheck=30,
    )
    sockets = bind_sockets(asked.host, asked.port)
    if asked.workers > 1:
        multiprocess.Process = Process  # type: ignore[misc]  # uvicorn has no option for it
        multiprocess.Multiprocess(configuration, sockets).run()
    else:
        # Not Multiprocess with one worker: its parent would be a second process that only waits.
        uvicorn.Server(configuration).run(sockets)


class Process(multiprocess.Process):
    """A server process whose death its parent notices at once, even while it waits for a sign of life. uvicorn's parent
    keeps the child's end of their pipe open, and so waits in vain until the health check times out."""

    def start(self) -> None:
        super().start()
        self.child_conn.close()


class Configuration(uvicorn.Config):
    def load(self) -> None:
        with end_on_signals():
            super().load()


def bind_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a bound socket for each address of the host; the server listens when it is ready. Ends the process if an
    address cannot be used."""
    found = []
    try:
        for family, _, _, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            tcp = socket.socket(family, socket.SOCK_STREAM)
            # Else a restart would wait until the kernel forgets the previous process's connections.
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                # IPv4 has a separate socket: one for both would leave no address for it.
                tcp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            notice_vanished(tcp)
            tcp.bind(address)
            found.append(tcp)
    except OSError as error:
        sys.exit(f"cannot listen on {host}, port {port}: {error.strerror or error}")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
