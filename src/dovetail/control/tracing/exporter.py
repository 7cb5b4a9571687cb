"""Sends spans to an OTLP receiver over HTTP, with OpenTelemetry's own SDK. Nobody else imports it."""

import socket
from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

import dovetail
from dovetail.control.tracing.settings import TracingSettings
from dovetail.control.tracing.spans import PlannedSpan

_SCOPE = InstrumentationScope("dovetail", dovetail.__version__)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class SpanSender:
    """Its methods block."""

    def __init__(self, settings: TracingSettings) -> None:
        self._exporter = OTLPSpanExporter(
            endpoint=settings.endpoint,
            certificate_file=settings.ca_file,
            headers=settings.headers(),
            timeout=settings.timeout,
        )
        self._resource = Resource(
            {
                "service.name": settings.service_name,
                "service.version": dovetail.__version__,
                "host.name": socket.gethostname(),
            }
        )

    def send(self, spans: Sequence[PlannedSpan]) -> bool:
        """Whether the receiver has taken them."""
        return self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS

    def close(self) -> None:
        self._exporter.shutdown()  # type: ignore[no-untyped-call]

    def _readable(self, span: PlannedSpan) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id, is_remote=False),
            parent=_context(span.trace, span.parent, is_remote=True) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes,
            events=[Event(words, timestamp=_nanoseconds(at)) for at, words in span.events],
            kind=SpanKind.SERVER if span.of_request else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(StatusCode.UNSET),
            start_time=_nanoseconds(span.began_at),
            end_time=_nanoseconds(span.ended_at),
            instrumentation_scope=_SCOPE,
        )


def _context(trace: int, span: int, *, is_remote: bool) -> SpanContext:
    return SpanContext(trace, span, is_remote=is_remote, trace_flags=_SAMPLED)


def _nanoseconds(at: float) -> int:
    return int(at * 1e9)
