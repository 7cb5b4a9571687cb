"""An OTLP receiver inside the test: decodes what is posted to /v1/traces with OpenTelemetry's own protobuf classes."""

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """Ids are hexadecimal, times are seconds since the epoch. `parent` is empty for a root."""

    name: str
    trace: str
    id: str
    parent: str
    began_at: float
    ended_at: float
    kind: int
    attributes: dict[str, Any]
    events: list[str]
    error: str
    service: str


@dataclass
class OtlpCollector:
    """`refuses`: it answers 503, as a receiver that is overloaded."""

    url: str = ""
    refuses: bool = False
    spans: list[ReceivedSpan] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    refused: int = 0

    def of(self, workload: str) -> list[ReceivedSpan]:
        """The trace of the workload of this name, each span once; empty while it has not come."""
        roots = [one for one in self.spans if one.attributes.get("dovetail.workload.name") == workload]
        found = {one.id: one for one in self.spans if roots and one.trace == roots[0].trace}
        return list(found.values())


@contextmanager
def otlp_collector() -> Iterator[OtlpCollector]:
    proto = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="needs PyPI's opentelemetry-proto"
    )
    found = OtlpCollector()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if found.refuses:
                found.refused += 1
                self.send_response(503)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            message = proto.ExportTraceServiceRequest.FromString(body)
            found.headers.append(dict(self.headers))
            found.spans += list(_spans(message))
            answer = proto.ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base calls it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    found.url = f"http://127.0.0.1:{server.server_port}/v1/traces"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _spans(message: Any) -> Iterator[ReceivedSpan]:
    for resource in message.resource_spans:
        service = _attributes(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    began_at=span.start_time_unix_nano / 1e9,
                    ended_at=span.end_time_unix_nano / 1e9,
                    kind=span.kind,
                    attributes=_attributes(span.attributes),
                    events=[event.name for event in span.events],
                    error=span.status.message if span.status.code == 2 else "",
                    service=service,
                )


def _attributes(given: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in given}
