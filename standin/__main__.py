"""``python -m standin``: starts the stand-in without Django, which is faster."""

import argparse
import socket

from standin import server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m standin", description=server.DESCRIPTION)
    server.add_arguments(parser)
    parser.add_argument("--fd", type=int, help="an inherited listening socket, instead of --host and --port")
    options = parser.parse_args()
    inherited = options.fd is not None
    listener = socket.socket(fileno=options.fd) if inherited else server.listen(options.host, options.port)
    if not inherited:
        print(f"stand-in Ollama on {server.url_of(listener)}", flush=True)
    server.serve(listener, echoes=options.echo)


if __name__ == "__main__":
    main()
