"""Client methods for rebalancing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dovetail.client.transport.transport import API, Transport

if TYPE_CHECKING:
    from dovetail.responses.rebalancing import Rebalancing


class RebalancingCalls:
    _http: Transport

    def rebalancing(self) -> Rebalancing:
        """How even the cluster is, and which moves would pay."""
        return cast("Rebalancing", self._http.json("GET", f"{API}/rebalancing"))

    def rebalance(self) -> Rebalancing:
        """Move what pays now."""
        return cast("Rebalancing", self._http.json("POST", f"{API}/rebalancing"))
