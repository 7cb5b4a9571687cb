"""Requests for Prometheus: how many, how they were answered, and how soon.

Guarantees: labels are of the server's own making. A route is its template (`/api/v1/workloads/{ref}`), never an address
that somebody sent; a method that no route knows is `other`.
"""

from prometheus_client import CollectorRegistry, Counter, Histogram

_REQUESTS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})


class HttpMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._answered = Counter(
            "dovetail_http_requests",
            "Requests that were answered; without a route where none was found or the caller may not ask",
            ["method", "route", "status"],
            registry=registry,
        )
        self._took_s = Histogram(
            "dovetail_http_request_seconds",
            "From the headers of a request to the beginning of its answer",
            ["method", "route"],
            buckets=_REQUESTS_S,
            registry=registry,
        )
        # There may be thousands of requests a second: each label set is looked up once.
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def observe(self, method: str, route: str, status: int, took_s: float) -> None:
        key = method, route, status
        found = self._children.get(key)
        if found is None:
            known = method if method in _METHODS else "other"
            found = self._answered.labels(known, route, str(status)), self._took_s.labels(known, route)
            if known == method:
                self._children[key] = found
        found[0].inc()
        found[1].observe(took_s)
