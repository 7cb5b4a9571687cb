"""A function app as Azure's own HTTP API describes it: not Azure, and not an emulator of it, as none runs here.

Written from the published HTTP API of Durable Functions (start, status, list, terminate: paths, status codes, bodies)
and of HTTP triggers (keys, 202 with a status URL). What it runs is real: its functions start commands of this machine.

    POST /runtime/webhooks/durabletask/orchestrators/NAME/ID   202; 400 for an unknown NAME; 409 while ID runs
    GET  /runtime/webhooks/durabletask/instances[/ID]          200 ended, 202 not yet, 404 unknown
    POST /runtime/webhooks/durabletask/instances/ID/terminate  202; 404 unknown, 410 ended
    POST /api/run, /api/start, /api/busy, /api/broken          HTTP triggers: answers; 202; 429; 500
"""

import json
import os
import re
import signal
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

HOST_KEY, SYSTEM_KEY = "host-key-of-the-app", "system-key-of-durabletask"
WEBHOOKS = "/runtime/webhooks/durabletask"


class Instance:
    """One orchestration: a command."""

    def __init__(self, name: str, given: Any) -> None:
        self.name, self.given = name, given
        self.status, self.output = "Pending", None
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def ended(self) -> bool:
        return self.status in ("Completed", "Failed", "Terminated")

    def _run(self) -> None:
        try:
            with self._lock:
                if self.ended:
                    return
                self._process = begin(self.given)
                self.status = "Running"
            output: Any = result(self._process)
            status = "Completed"
        except Exception as error:
            status, output = "Failed", f"Orchestrator function '{self.name}' failed: {error}"
        with self._lock:
            if not self.ended:
                self.status, self.output = status, output

    def terminate(self, reason: str) -> bool:
        with self._lock:
            if self.ended:
                return False
            self.status, self.output = "Terminated", reason  # type: ignore[assignment]
            if self._process is not None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
            return True


def begin(given: Any) -> subprocess.Popen[str]:
    about = {f"DOVETAIL_{name.upper()}": text for name, text in given.get("dovetail", {}).items()}
    environment = {**os.environ, **about, **given.get("env", {})}
    return subprocess.Popen(
        given["command"], env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, _ = process.communicate()
    return {"exit_code": process.returncode, "output": output}


class FunctionApp:
    """What the handlers share."""

    def __init__(self) -> None:
        self.instances: dict[str, Instance] = {}
        self.calls: list[Any] = []
        self.url = ""

    def end_all(self) -> None:
        for one in self.instances.values():
            one.terminate("the app ends")

    def addresses(self, key: str) -> dict[str, str]:
        """As `createCheckStatusResponse` gives them."""
        base, code = f"{self.url}{WEBHOOKS}/instances/{key}", f"taskHub=hub&connection=Storage&code={SYSTEM_KEY}"
        return {
            "id": key,
            "statusQueryGetUri": f"{base}?{code}",
            "terminatePostUri": f"{base}/terminate?reason={{text}}&{code}",
            "purgeHistoryDeleteUri": f"{base}?{code}",
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    app: FunctionApp

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/":
            return self._answer(200, "Your Functions app is up and running")
        if not self._may(SYSTEM_KEY):
            return self._answer(401)
        if parts.path == f"{WEBHOOKS}/instances":
            return self._answer(200, [self._described(key) for key in self.app.instances])
        key = unquote(parts.path.removeprefix(f"{WEBHOOKS}/instances/"))
        found = self.app.instances.get(key)
        if found is None:
            return self._answer(404)
        return self._answer(200 if found.ended else 202, self._described(key))

    def do_POST(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if parts.path.startswith("/api/"):
            return self._trigger(parts.path, body)
        if not self._may(SYSTEM_KEY):
            return self._answer(401)
        if found := re.fullmatch(f"{WEBHOOKS}/orchestrators/([^/]+)/([^/]+)", parts.path):
            return self._start(found[1], unquote(found[2]), body)
        if found := re.fullmatch(f"{WEBHOOKS}/instances/([^/]+)/terminate", parts.path):
            instance = self.app.instances.get(unquote(found[1]))
            if instance is None:
                return self._answer(404)
            reason = parse_qs(parts.query).get("reason", [""])[0]
            return self._answer(202 if instance.terminate(reason) else 410)
        return self._answer(404)

    def _start(self, name: str, key: str, body: bytes) -> None:
        if name != "RunCommand":
            return self._answer(400, f"The function '{name}' doesn't exist, is disabled, or is not an orchestrator")
        if key in self.app.instances and not self.app.instances[key].ended:
            return self._answer(409, f"An instance with ID '{key}' already exists")
        self.app.instances[key] = Instance(name, json.loads(body))
        addresses = self.app.addresses(key)
        return self._answer(202, addresses, {"Location": addresses["statusQueryGetUri"], "Retry-After": "10"})

    def _trigger(self, path: str, body: bytes) -> None:
        if not self._may(HOST_KEY):
            return self._answer(401)
        given = json.loads(body)
        self.app.calls.append(given)
        if path == "/api/run":
            return self._answer(200, result(begin(given)))
        if path == "/api/start":
            key = uuid.uuid4().hex
            self.app.instances[key] = Instance("RunCommand", given)
            addresses = self.app.addresses(key)
            return self._answer(202, addresses, {"Location": addresses["statusQueryGetUri"]})
        if path == "/api/busy":
            calls = sum(one == given for one in self.app.calls)
            return self._answer(429, "Too many requests") if calls < 3 else self._answer(200, "at last")
        if path == "/api/broken":
            return self._answer(500, "division by zero")
        if path == "/api/elsewhere":
            return self._answer(202, {"statusQueryGetUri": "http://192.0.2.1/status"})
        return self._answer(404)

    def _may(self, key: str) -> bool:
        code = parse_qs(urlsplit(self.path).query).get("code", [""])[0]
        return key in (self.headers.get("x-functions-key"), code)

    def _described(self, key: str) -> dict[str, Any]:
        found = self.app.instances[key]
        times = {"createdTime": "2026-11-01T10:00:00Z", "lastUpdatedTime": "2026-11-01T10:00:00Z"}
        state = {"runtimeStatus": found.status, "output": found.output, "customStatus": None}
        return {"name": found.name, "instanceId": key, "input": found.given, **state, **times}

    def _answer(self, status: int, body: Any = None, headers: dict[str, str] | None = None) -> None:
        text = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the caller has gone
            self.wfile.write(text)


@contextmanager
def azure_app() -> Iterator[FunctionApp]:
    app = FunctionApp()
    handler = type("Handler", (_Handler,), {"app": app})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    app.url = f"http://127.0.0.1:{server.server_address[1]}"
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    serving.start()
    try:
        yield app
    finally:
        app.end_all()
        server.shutdown()
        server.server_close()
        serving.join()
