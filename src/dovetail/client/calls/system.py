"""Client methods for the server as a whole: summary, profiles, health, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses.system import ClusterSummary, Profiles, ServerHealth


class SystemCalls:
    _http: Transport

    def summary(self) -> ClusterSummary:
        return cast("ClusterSummary", self._http.json("GET", f"{API}/summary"))

    def profiles(self) -> Profiles:
        return cast("Profiles", self._http.json("GET", f"{API}/profiles"))

    def health(self) -> ServerHealth:
        return cast("ServerHealth", self._http.json("GET", "/health"))

    def ready(self) -> ServerHealth:
        """Raises DovetailError with status 503 and the reason while the server is not ready."""
        return cast("ServerHealth", self._http.json("GET", "/ready"))

    def metrics(self) -> str:
        return self._http.ask("GET", "/metrics").text
