"""Client methods for an overview: trends, what needs attention, the map of the cluster, the latest decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses.attention import AttentionAnswer
    from dovetail.responses.recent_decisions import RecentDecision
    from dovetail.responses.topology_map import TopologyMap
    from dovetail.responses.trends import TrendAnswer


class OverviewCalls:
    _http: Transport

    def trends(
        self, *, since_s: float = 3600, points: int = 180, series: Sequence[str] = (), node: str | None = None
    ) -> TrendAnswer:
        """How the cluster, or one node, was in the last so many seconds, in so many steps or fewer. `series`: names of
        series and groups; none: all. A value is None where nothing was recorded."""
        params = {"since": since_s, "points": points, "series": ",".join(series) or None, "node": node}
        return cast("TrendAnswer", self._http.json("GET", f"{API}/trends", params=params))

    def attention(self) -> AttentionAnswer:
        """What needs a person, the worst first."""
        return cast("AttentionAnswer", self._http.json("GET", f"{API}/attention"))

    def topology_map(
        self, *, after: str | None = None, workload: str | int | None = None, namespace: str | None = None
    ) -> TopologyMap:
        """Every node in columns, or those that changed `after` a version. `workload`: also where its tasks are."""
        params = {"after": after, "workload": workload, "namespace": namespace}
        return cast("TopologyMap", self._http.json("GET", f"{API}/topology/map", params=params))

    def recent_decisions(self, *, limit: int = 50) -> list[RecentDecision]:
        """About any workload, newest first."""
        return cast("list[RecentDecision]", self._http.items(f"{API}/decisions", {"limit": limit}))
