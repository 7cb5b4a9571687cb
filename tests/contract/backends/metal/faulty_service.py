"""A Redfish service before the emulator that does what some controllers do."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from tests.servers.redfish import RedfishServer


class FaultyService:
    """`fault` decides: `lies` says that it accepts changes of power and forwards none, `says-off` says off whatever is
    true, `nonsense` answers with a page of another program, `login` refuses every login, `hangs` answers after thirty
    seconds."""

    def __init__(self, upstream: RedfishServer) -> None:
        self.fault = ""
        self.ending = Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.forward("GET")

            def do_POST(self) -> None:
                self.forward("POST")

            def forward(self, method: str) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if outer.fault == "hangs":
                    outer.ending.wait(30)
                if outer.fault == "login" and self.path.rstrip("/") != "/redfish/v1":
                    return self.answer(401, b'{"error": {"message": "who are you?"}}')
                if outer.fault == "nonsense":
                    return self.answer(200, b"<html>Welcome to nginx!</html>", "text/html")
                if outer.fault == "lies" and method == "POST":
                    return self.answer(204, b"")
                reply = upstream.http.request(method, self.path, json=json.loads(body) if body else None)
                data = reply.content
                if outer.fault == "says-off" and b'"PowerState"' in data:
                    data = json.dumps({**json.loads(data), "PowerState": "Off"}).encode()
                return self.answer(reply.status_code, data)

            def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
                with suppress(OSError):  # nobody may wait any more
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator["FaultyService"]:
        thread = Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.ending.set()
            self._server.shutdown()
            thread.join()
            self._server.server_close()
