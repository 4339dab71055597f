"""uvicorn's HTTP protocol, with what an exact proxy needs beyond ASGI."""

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class ExactProtocol(HttpToolsProtocol):
    """Keeps the request's target in the scope as it was sent, and declines protocol upgrades."""

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        # ASGI splits it, and the parts do not tell ``/x?`` from ``/x``.
        self.scope["target"] = self.url  # type: ignore[typeddict-unknown-key]

    def on_headers_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            # Java's HTTP client offers h2c with each request. httptools takes what follows the head for the other
            # protocol, and the body would be lost.
            self._decline(data[offer.args[0] :])
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self.send_400_response("Invalid HTTP request received.")

    def _decline(self, rest: bytes) -> None:
        """Parses the same request again, without the offer; ``rest`` is what came after its head."""
        kept = [header for header in self.headers if header[0] != b"upgrade"]
        if len(kept) == len(self.headers):  # CONNECT
            self.send_400_response("This is not a proxy to elsewhere.")
            return
        line = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        self.parser = httptools.HttpRequestParser(self)
        self.data_received(b"\r\n".join([line, *[b"%s: %s" % header for header in kept], b"\r\n"]) + rest)
