"""A server that speaks the two calls of OpenSearch and Elasticsearch that are used: `_count`, and `_doc/ID`."""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote


class SearchServer(ThreadingHTTPServer):
    """Holds one index, `docs`; what it is asked is kept in `asked`, and `slow` ids are answered when it ends."""

    daemon_threads = True

    def __init__(self, documents: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.documents, self.asked, self.slow = dict(documents), list[str](), set[str]()
        self.password, self.redirect = "", ""
        self.over = threading.Event()

    @property
    def address(self) -> str:
        return f"opensearch:http://127.0.0.1:{self.server_port}/docs"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: SearchServer

    def do_GET(self) -> None:
        server, (index, _, call) = self.server, self.path.strip("/").partition("/")
        server.asked.append(self.path)
        wanted = base64.b64encode(server.password.encode()).decode()
        if server.redirect:
            self.send_response(302)
            self.send_header("Location", server.redirect)
            self.end_headers()
        elif server.password and self.headers.get("Authorization") != f"Basic {wanted}":
            self.answer(401, {"error": {"type": "security_exception"}, "status": 401})
        elif index != "docs":
            self.answer(404, {"error": {"type": "index_not_found_exception"}, "status": 404})
        elif call == "_count":
            self.answer(200, {"count": len(server.documents), "_shards": {"total": 1, "successful": 1, "failed": 0}})
        else:
            id = unquote(call.removeprefix("_doc/"))
            if id in server.slow:
                server.over.wait()
            found = server.documents.get(id)
            about = {"_index": "docs", "_id": id, "found": found is not None}
            self.answer(200 if found else 404, {**about, "_source": found} if found else about)

    def answer(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def search_server(documents: Mapping[str, Mapping[str, Any]]) -> Iterator[SearchServer]:
    """Serve some documents."""
    with SearchServer(documents) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()
