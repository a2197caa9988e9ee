"""A web server on this machine that notes what is requested of it, and answers every request."""

from __future__ import annotations

from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


class Listener:
    """`url` is its address without a slash at the end; `paths` are the requested ones, in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.paths: list[str] = []


@contextmanager
def running_listener() -> Generator[Listener]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listener.paths.append(self.path)
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Type", "image/svg+xml")
            self.end_headers()
            self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg"/>')

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
