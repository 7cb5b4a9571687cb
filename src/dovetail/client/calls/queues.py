"""Client methods for queues and reservations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from dovetail.client.transport.transport import API, Transport, page_params, written

if TYPE_CHECKING:
    from dovetail.model.reservation import Reservation
    from dovetail.responses import ItemPage
    from dovetail.responses.queues import QueueItem, QueuePage, QueuesAnswer, ReservationRow

PAGE = 1000  # workloads that one request asks for


class QueueCalls:
    _http: Transport

    def queue(self, *, limit: int | None = None) -> list[QueueItem]:
        """Waiting workloads in the order in which the scheduler tries them: the first so many, or all."""
        found: list[QueueItem] = []
        while limit is None or len(found) < limit:
            most = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self.queue_page(limit=most, offset=len(found))
            found += page["items"]
            if len(page["items"]) < most or len(found) >= page.get("total", 0):
                break
        return found

    def queue_page(
        self, *, limit: int, offset: int = 0, queue: str | None = None, search: str | None = None
    ) -> QueuePage:
        """Some of them, and how many there are in all. `queue`: only in it and below it; `search`: only those whose
        name contains it."""
        params = {"limit": limit, "offset": offset, "queue": queue, "search": search}
        return cast("QueuePage", self._http.json("GET", f"{API}/queue", params=params))

    def queues(self) -> QueuesAnswer:
        """The tree of queues with use, limits and loans, and how fair it is between tenants."""
        return cast("QueuesAnswer", self._http.json("GET", f"{API}/queues"))

    def reserve(
        self, node: str, resources: Mapping[str, Any], duration: str | float, *, holder: str = ""
    ) -> ReservationRow:
        """Hold capacity on one node from now on. No workload may use it."""
        return self.reserve_ahead({"node": node, "resources": dict(resources), "duration": duration, "holder": holder})

    def reserve_ahead(self, wanted: Reservation | Mapping[str, Any]) -> ReservationRow:
        """Reserve capacity in advance, on nodes, in a domain or by shape. Raises DovetailError with status 409 and the
        reason when it cannot be met. Sent only once: after a lost answer look at `reservations` first."""
        return cast("ReservationRow", self._http.json("POST", f"{API}/reservations", json=written(wanted)))

    def reservation(self, reservation: int) -> ReservationRow:
        return cast("ReservationRow", self._http.json("GET", f"{API}/reservations/{reservation}"))

    def reservations(self) -> list[ReservationRow]:
        return cast("list[ReservationRow]", self._http.items(f"{API}/reservations"))

    def reservation_page(
        self, *, search: str = "", sort: str = "", limit: int | None = None, offset: int = 0
    ) -> ItemPage[ReservationRow]:
        """Reservations whose target, nodes, tenant or holder contain `search`: so many of them, and how many there are.
        `sort`: id, status, target, tenant, start, until, every_s or holder, with `-` before it in descending order."""
        params = page_params(search, sort, limit, offset)
        return cast("ItemPage[ReservationRow]", self._http.json("GET", f"{API}/reservations", params=params))

    def release(self, reservation: int) -> None:
        self._http.ask("DELETE", f"{API}/reservations/{reservation}")
