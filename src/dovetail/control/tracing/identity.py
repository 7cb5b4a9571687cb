"""Which trace a workload belongs to: the client's, if its request carried a `traceparent`, or one of its own.

Guarantees: span ids follow from the trace and from what the span is about. A trace that is sent twice, because the
server was killed before it had noted that it was sent, has the same ids both times.
"""

import hashlib
import secrets
from typing import NamedTuple

from dovetail.model.record import RequestTrace

NO_SPAN = 0


class TraceIdentity(NamedTuple):
    """`parent`: the span of the client, 0 for none."""

    trace: int
    parent: int

    def span(self, *about: object) -> int:
        """The id of a span. Ids of nothing, 0, are not allowed in traces."""
        text = f"{self.trace:032x}/{'/'.join(map(str, about))}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) or 1

    def traceparent(self, span: int) -> str:
        """As the W3C writes it, for a program that continues below a span of this trace."""
        return f"00-{self.trace:032x}-{span:016x}-01"


def identified(request: RequestTrace | None, sample: float) -> TraceIdentity | None:
    """The trace of a new workload; None if it is not traced."""
    if request is not None and request.traceparent:
        given = _client_span(request.traceparent)
        if given is not None:
            return given[0] if given[1] else None
    trace = secrets.randbits(128) or 1
    return TraceIdentity(trace, NO_SPAN) if (trace & (2**64 - 1)) < sample * 2**64 else None


def _client_span(header: str) -> tuple[TraceIdentity, bool] | None:
    """The client's span, and whether it is sampled; None for a header that is wrong, which the W3C says to ignore."""
    from opentelemetry.trace import get_current_span
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    context = get_current_span(TraceContextTextMapPropagator().extract({"traceparent": header})).get_span_context()
    if not context.is_valid:
        return None
    return TraceIdentity(context.trace_id, context.span_id), context.trace_flags.sampled
