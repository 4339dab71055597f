"""Receivers of notifications on real sockets: of webhooks, and a mail server.

with Receiver() as receiver:
    receiver.statuses += [500, 503]     # what the next requests are answered; then 204
    receiver.got[-1].message, .headers, .verify(secret)
"""

import hashlib
import hmac
import json
import socketserver
import threading
from collections import deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Got:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body)
        return message

    def verify(self, secret: str) -> bool:
        """True if the signature is that of the secret, by the receiver's own arithmetic (docs/monitoring.md)."""
        parts = dict(part.split("=", 1) for part in self.headers["Festinger-Signature"].split(","))
        signed = parts["t"].encode() + b"." + self.body
        return hmac.compare_digest(hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest(), parts["v1"])


class _Served:
    """A server in a thread, for as long as the context is open."""

    _server: socketserver.BaseServer

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class Receiver(_Served):
    def __init__(self) -> None:
        self.got: list[Got] = []
        self.statuses: deque[int] = deque()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(Got(self.path, dict(self.headers.items()), body))
                self.send_response(receiver.statuses.popleft() if receiver.statuses else 204)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"


class MailServer(_Served):
    """As much of SMTP as one client needs; keeps each mail as it came."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        mails = self.mails

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.wfile.write(b"220 here\r\n")
                while line := self.rfile.readline():
                    word = line.strip().upper()
                    if word == b"DATA":
                        self.wfile.write(b"354 go on\r\n")
                        lines = list(iter(self.rfile.readline, b".\r\n"))
                        mails.append(b"".join(lines).decode())
                    self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
