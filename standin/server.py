"""Serves the stand-in with uvicorn, and defines the command line that both entry points share."""

import argparse
import contextlib
import logging
import socket

import uvicorn

from standin.app import StandInOllama
from standin.behaviours import CATALOGUE

OLLAMA_PORT = 11434
SHUTDOWN_S = 1  # for answers in progress; a hanging one never ends by itself
# Go keeps idle connections open forever, so clients' pools must not find ours closed.
KEEP_ALIVE_S = 24 * 3600

DESCRIPTION = "A stand-in for Ollama: its whole API, with answers that never change, and faults on demand."
INSPECTION = "GET /standin/requests shows what arrived (?last=20: the newest), DELETE /standin/requests forgets it."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"{CATALOGUE}\n\n{INSPECTION}"
    parser.add_argument("--port", type=int, default=OLLAMA_PORT, help="0: any free one (default %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--echo", action="store_true", help="every model answers as the model echo does")


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError if the address is taken or not local."""
    return socket.create_server((host, port), backlog=1024)


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{host}:{port}"


def serve(listener: socket.socket, *, echoes: bool) -> None:
    """Answer on this socket until SIGINT or SIGTERM."""
    config = uvicorn.Config(
        StandInOllama(echoes=echoes),
        lifespan="off",
        log_level="error",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    logging.getLogger("uvicorn.error").addFilter(is_not_our_cut)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def is_not_our_cut(record: logging.LogRecord) -> bool:
    """False for uvicorn's error about unfinished answers, which the model ``cut`` causes on purpose."""
    return "without completing response" not in record.getMessage()
