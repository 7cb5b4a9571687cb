"""The places that could run a workload, side by side: what one task would cost, when it would start and end, and why a
place is not chosen.

Nodes that differ in nothing that matters are one candidate. Guarantees: costs and refusals are those of the scores and
filters that decide; starts are those that backfill would promise. Nothing is changed.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.horizon import NEVER
from dovetail.cluster.views.view import View
from dovetail.engine.gangs.requests import refuse_dear
from dovetail.engine.planning.plan import PlannedTask, identity_for
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.offer import Offer
from dovetail.model.text.moment import show_time
from dovetail.model.workloads.workload import Workload
from dovetail.placement.contract import Request, TooDear
from dovetail.placement.market.costs import ask_of, expected_cost, expected_grams, waiting_s
from dovetail.placement.pipeline.evaluation import FilterResult

INSTANCE_TYPE = ("instance-type", "node.kubernetes.io/instance-type")
OWN_NODE = Offer()
_CENT = 0.005


@dataclass(frozen=True, slots=True)
class MarketCandidate:
    """`node`: one of its `nodes` nodes. `start` and `finish` are None where nothing tells when there will be room."""

    backend: str
    kind: str
    place: str
    spot: bool
    node: str
    nodes: int
    cost: float
    currency: str
    grams: float
    start: float | None
    finish: float | None
    chosen: bool
    why_not: str


def market_plan(state: EngineState, spec: Workload, tasks: list[PlannedTask], now: float) -> list[MarketCandidate]:
    """For the first of the planned tasks; the chosen candidate first, then by cost. Empty for work that compares no
    places."""
    terms = state.terms(spec)
    if terms.shape.market is None or not tasks:
        return []
    request = state.asked(terms.shape, identity_for(spec, terms.shape))
    view = View(state.cluster)
    filtered = state.pipelines[terms.shape.profile].evaluator.run_filters(request, view)
    deadline = None if terms.finish_within_s is None else now + terms.finish_within_s
    dear = refuse_dear(state, request, deadline, max(1, terms.gang_min), now).too_dear
    return _MarketTable(state, request, view, filtered, dear, deadline, now).candidates(tasks[0].node)


class _MarketTable:
    def __init__(
        self,
        state: EngineState,
        request: Request,
        view: View,
        filtered: FilterResult,
        dear: TooDear | None,
        deadline: float | None,
        now: float,
    ) -> None:
        self._state, self._request, self._view, self._dear, self._now = state, request, view, dear, now
        self._deadline = deadline
        self._room: B1 = filtered.alive
        self._eligible: B1 = filtered.feasible_ignoring_capacity
        ask = ask_of(request)
        self._run_s = ask.run_s
        self._cost: F8 = expected_cost(request, view)
        self._grams: F8 = expected_grams(request, view)
        self._wait_s: F8 = waiting_s(ask, view)

    def candidates(self, node: str | None) -> list[MarketCandidate]:
        """`node`: where the task goes now; None: it waits."""
        chosen = self._state.cluster.rows.get(node or "", -1)
        fallback = None if node is not None or self._dear is None else self._dear.fallback
        found = [self._candidate(rows, chosen if fallback is None else fallback) for rows in self._groups()]
        best = next((one for one in found if one.chosen), None)
        if fallback is not None and best is not None:
            found, best = self._after_waiting(found, best)
        found = [one if one.chosen or one.why_not else replace(one, why_not=self._why_not(one, best)) for one in found]
        return sorted(found, key=lambda one: (not one.chosen, one.cost, one.kind, one.node))

    def _after_waiting(
        self, found: list[MarketCandidate], last: MarketCandidate
    ) -> tuple[list[MarketCandidate], MarketCandidate]:
        """Work that waits goes to the cheapest place that is expected to come free in time; `last`: where it goes if
        none does."""
        assert self._dear is not None
        until = self._dear.until
        begins = until + float(self._wait_s[self._state.cluster.rows[last.node]])
        words = f"from {show_time(until)}, if nothing cheaper comes free before"
        at_last = replace(last, start=begins, finish=begins + self._run_s, why_not=words)
        free = [one for one in found if one.cost < last.cost and one.start is not None and one.start <= until]
        if not free:
            return [at_last if one is last else one for one in found], at_last
        first = min(free, key=lambda one: (one.cost, one.start or 0.0))
        best, at_last = replace(first, chosen=True), replace(at_last, chosen=False)
        return [at_last if one is last else best if one is first else one for one in found], best

    def _groups(self) -> list[Rows]:
        """Rows of equal nodes."""
        cluster, found = self._state.cluster, dict[Hashable, list[int]]()
        for row in np.flatnonzero(self._eligible).tolist():
            offer = cluster.offers.by_row.get(row, OWN_NODE)
            kind = self._kind(row)
            key = (int(cluster.status.backends[row]), kind, offer, round(float(self._cost[row]), 6))
            found.setdefault(key, []).append(row)
        return [np.array(rows, dtype=np.intp) for rows in found.values()]

    def _kind(self, row: int) -> str:
        for label in INSTANCE_TYPE:
            if (value := self._view.label(label, row)) is not None:
                return value
        return ""

    def _candidate(self, rows: Rows, chosen: int) -> MarketCandidate:
        cluster = self._state.cluster
        with_room = rows[self._room[rows]]
        row = chosen if chosen in rows else int(with_room[0] if len(with_room) else rows[0])
        offer = cluster.offers.by_row.get(row, OWN_NODE)
        start: float | None = self._now
        if not len(with_room):
            start = self._comes_free(rows)
        if start is not None:
            start += float(self._wait_s[row])
        return MarketCandidate(
            backend=cluster.status.backend_of(row),
            kind=self._kind(row),
            place=offer.place,
            spot=offer.spot,
            node=cluster.names[row],
            nodes=len(rows),
            cost=round(float(self._cost[row]), 6),
            currency=offer.currency,
            grams=round(float(self._grams[row]), 3),
            start=start,
            finish=None if start is None else start + self._run_s,
            chosen=row == chosen,
            why_not="",
        )

    def _comes_free(self, rows: Rows) -> float | None:
        """When running tasks are expected to have left enough."""
        mask = np.zeros(self._view.size, dtype=np.bool_)
        mask[rows] = True
        slot = self._state.promises.horizon(self._now, (), "").earliest(mask, self._request.column, 1, self._run_s)
        return None if slot is None or slot.start >= NEVER else slot.start

    def _why_not(self, one: MarketCandidate, best: MarketCandidate | None) -> str:
        row = self._state.cluster.rows[one.node]
        if self._dear is not None and self._dear.late[row]:
            return "would end after its deadline, if it were taken away once" if one.spot else "ends after its deadline"
        if one.start is None:
            return "no room, and nothing tells when there will be"
        if self._deadline is not None and one.finish is not None and one.finish > self._deadline:
            return "no room in time"
        if best is None:
            return "no room now" if one.start > self._now else ""
        more = one.cost - best.cost
        if more > _CENT:
            return f"costs {more:.2f} {one.currency} more"
        if not self._room[row]:
            return f"no room before {show_time(one.start)}"
        if best.start is not None and one.start > best.start:
            return f"starts {one.start - best.start:.0f} s later"
        return "scores lower"
