"""A registry with one image behind a login, for engines on this machine: on the loopback they need no TLS."""

import base64
import gzip
import hashlib
import json
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.servers.docker import busybox_root

NAME, USERNAME, PASSWORD = "team/tool", "ann", "open sesame"
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


class Registry:
    """`open` holds back what layers hold, and the news that something is missing, until it is set. `asked`: the paths
    of all requests."""

    def __init__(self, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self.image = f"{self.address}/{NAME}:1"
        self.open = threading.Event()
        self.open.set()
        self.asked: list[str] = []
        root = busybox_root()
        layer = gzip.compress(root, mtime=0)
        config = json.dumps(
            {"architecture": ARCHITECTURE, "os": "linux", "rootfs": {"type": "layers", "diff_ids": [_digest(root)]}}
        ).encode()
        self._blobs = {_digest(content): content for content in (layer, config)}
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {
                "mediaType": "application/vnd.docker.container.image.v1+json",
                "size": len(config),
                "digest": _digest(config),
            },
            "layers": [
                {
                    "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                    "size": len(layer),
                    "digest": _digest(layer),
                }
            ],
        }
        self._manifest = json.dumps(manifest).encode()

    def answer(self, path: str, login: str | None) -> tuple[int, str, bytes]:
        """Status, type and content."""
        self.asked.append(path)
        if login != "Basic " + base64.b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode():
            words = {"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}
            return 401, "application/json", json.dumps(words).encode()
        place = path.removeprefix(f"/v2/{NAME}/")
        if path == "/v2/":
            return 200, "application/json", b"{}"
        if place in ("manifests/1", f"manifests/{_digest(self._manifest)}"):
            return 200, _MANIFEST, self._manifest
        content = self._blobs.get(place.removeprefix("blobs/"))
        self.open.wait()
        if content is None:
            words = {"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}
            return 404, "application/json", json.dumps(words).encode()
        return 200, "application/octet-stream", content

    def times_fetched(self) -> int:
        """Of the layer and the configuration, each counts once a pull."""
        return max((self.asked.count(f"/v2/{NAME}/blobs/{digest}") for digest in self._blobs), default=0)


@contextmanager
def image_registry() -> Iterator[Registry]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, kind, content = registry.answer(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", _digest(content))
            if status == 401:
                self.send_header("WWW-Authenticate", 'Basic realm="images"')
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Tests say what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry = Registry(server.server_port)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield registry
    finally:
        registry.open.set()
        server.shutdown()
        thread.join()
        server.server_close()
