"""Client methods for the server as a whole: summary, profiles, events, health, metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from dovetail.client.transport import API, Transport, events_in

if TYPE_CHECKING:
    from dovetail.responses.system import ClusterSummary, HistoryRow, Profiles, ServerHealth


class SystemCalls:
    _http: Transport

    def summary(self) -> ClusterSummary:
        return cast("ClusterSummary", self._http.json("GET", f"{API}/summary"))

    def profiles(self) -> Profiles:
        return cast("Profiles", self._http.json("GET", f"{API}/profiles"))

    def events(
        self,
        *,
        after: int | None = None,
        workload: str | int | None = None,
        node: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[HistoryRow]:
        """Events as they happen, until the server ends the stream. `after`: begin after the event with this `seq`."""
        params = {"after": after, "workload": workload, "node": node, "namespace": namespace}
        with self._http.stream(f"{API}/events", params, {"Accept": "text/event-stream"}) as answer:
            for event in events_in(answer.iter_lines()):
                yield cast("HistoryRow", event)

    def past_events(
        self,
        *,
        after: int = 0,
        workload: str | int | None = None,
        node: str | None = None,
        namespace: str | None = None,
        limit: int = 100,
    ) -> list[HistoryRow]:
        """Past events, oldest first."""
        params = {"after": after, "workload": workload, "node": node, "namespace": namespace, "limit": limit}
        return cast("list[HistoryRow]", self._http.items(f"{API}/events", params))

    def health(self) -> ServerHealth:
        return cast("ServerHealth", self._http.json("GET", "/health"))

    def ready(self) -> ServerHealth:
        """Raises DovetailError with status 503 and the reason while the server is not ready."""
        return cast("ServerHealth", self._http.json("GET", "/ready"))

    def metrics(self) -> str:
        return self._http.ask("GET", "/metrics").text
