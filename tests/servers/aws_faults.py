"""What AWS does and moto does not: errors of the API, slow and lost answers. A proxy in front of moto, at the wire.

An error is answered in the form that EC2's API documents, so the SDK reads it as it reads AWS's.
"""

import base64
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs
from uuid import uuid4

import httpx

ERROR = """<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>\
<RequestID>{request}</RequestID></Response>"""
CONSOLE = """<?xml version="1.0" encoding="UTF-8"?>
<GetConsoleOutputResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>{request}</requestId>\
<instanceId>{instance}</instanceId><timestamp>2026-01-01T00:00:00.000Z</timestamp><output>{output}</output>\
</GetConsoleOutputResponse>"""
CONSOLE_BYTES = 64 * 1024
_HOP = {"connection", "content-length", "transfer-encoding", "keep-alive", "host"}


@dataclass
class AwsFaults:
    """`refuses`: by action of the API, the code of the error that it answers; or by action and instance type. `loses`:
    how many answers of an action are lost after it was done. `pause_s`: how long each action takes before and after.
    `under_way`: how many of each action are being answered now. `consoles`: what the console of an instance shows; AWS
    keeps the newest 64 KiB. `nitro`: of instances on Nitro, which show it as it is now."""

    url: str = ""
    refuses: dict[str, str] = field(default_factory=dict)
    loses: dict[str, int] = field(default_factory=dict)
    pause_s: dict[str, Callable[[], float]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    consoles: Callable[[str], str] | None = None
    nitro: bool = True

    def calls(self, action: str) -> list[dict[str, str]]:
        return [given for name, given in self.asked if name == action]


@contextmanager
def aws_faults(upstream: str) -> Iterator[AwsFaults]:
    faults = AwsFaults()
    client = httpx.Client(base_url=upstream, timeout=60, trust_env=False)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            began: list[str] = []
            try:
                self._pass_on(began)
            finally:
                faults.under_way.subtract(began)

        def _pass_on(self, began: list[str]) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            given = {key: values[0] for key, values in parse_qs(body.decode(errors="replace")).items()}
            action = str(given.get("Action") or self.headers.get("X-Amz-Target", ""))
            faults.asked.append((action, given))
            faults.under_way.update([action])
            began.append(action)
            pause = faults.pause_s.get(action, lambda: 0.0)
            time.sleep(pause())
            code = faults.refuses.get(f"{action} {given.get('InstanceType', '')}") or faults.refuses.get(action)
            if code is not None:
                words = ERROR.format(code=code, message=f"{code}, says the test", request=uuid4())
                self._answer(500 if code == "InternalError" else 400, {"Content-Type": "text/xml"}, words.encode())
                return
            if action == "GetConsoleOutput" and faults.consoles is not None:
                if given.get("Latest") == "true" and not faults.nitro:
                    words = ERROR.format(code="UnsupportedOperation", message="not on Nitro", request=uuid4())
                    self._answer(400, {"Content-Type": "text/xml"}, words.encode())
                    return
                output = base64.b64encode(faults.consoles(given["InstanceId"]).encode()[-CONSOLE_BYTES:]).decode()
                words = CONSOLE.format(instance=given["InstanceId"], output=output, request=uuid4())
                self._answer(200, {"Content-Type": "text/xml"}, words.encode())
                return
            headers = {key: value for key, value in self.headers.items() if key.lower() not in _HOP}
            answer = client.post(self.path, content=body, headers=headers)
            time.sleep(pause())
            if faults.loses.get(action, 0) > 0:
                faults.loses[action] -= 1
                self.close_connection = True
                return
            kept = {
                key: value for key, value in answer.headers.items() if key.lower() not in {*_HOP, "content-encoding"}
            }
            self._answer(answer.status_code, kept, answer.content)

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Whoever asked may have been killed."""

    server = Server(("127.0.0.1", 0), Handler)
    faults.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, name="aws faults", daemon=True).start()
    try:
        yield faults
    finally:
        server.shutdown()
        server.server_close()
        client.close()
