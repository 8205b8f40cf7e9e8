"""A page on this machine's own address, for one reader who knows its token.

It answers requests for exactly one path, by exactly the name it gave itself, and says 404 or 403 to
anything else: no other host can reach it, and no page of another site can read it by giving this
machine another name. What may live here: this server. What may not: what it serves.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Type": "text/html; charset=utf-8",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class PageServer:
    """Serves one page at `address`; `port` 0 takes any that is free."""

    def __init__(self, page: str, policy: str, port: int = 0):
        self._token = secrets.token_urlsafe(24)
        self._server = ThreadingHTTPServer((HOST, port), _handler(page, policy, self._token))
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.address = f"http://{HOST}:{self.port}/{self._token}/"

    def run(self) -> None:
        """Answer until the process is interrupted or `stop` is called."""
        try:
            self._server.serve_forever(poll_interval=0.2)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.shutdown()


def _handler(page: str, policy: str, token: str) -> Callable[..., BaseHTTPRequestHandler]:
    body = page.encode("utf-8", "replace")

    class Handler(BaseHTTPRequestHandler):
        """Answers for one path."""

        server_version, sys_version = "adjoint", ""

        def do_GET(self) -> None:
            self._answer(body)

        def do_HEAD(self) -> None:
            self._answer(b"")

        def _answer(self, content: bytes) -> None:
            code = self._code()
            self.send_response(code)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.send_header("Content-Security-Policy", f"{policy}; frame-ancestors 'none'")
            sent = content if code == 200 else b""
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def _code(self) -> int:
            if self.headers.get_all("Host") != [f"{HOST}:{self.connection.getsockname()[1]}"]:
                return 403
            known = hmac.compare_digest(self.path.encode(), f"/{token}/".encode())
            return 200 if known else 404

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed for each request."""

    return Handler
