"""Traffic between workloads for the API: what was declared, what machines have counted, and what to declare.

Kept in memory; after a restart it is measured again. Left to others: counting (`backends.socket_flows`).
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

from dovetail.engine.pieces import Pieces
from dovetail.engine.questions.questions import Questions
from dovetail.model.command import task_of_key
from dovetail.model.task_flows import TaskFlows
from dovetail.traffic.matrix import OUTSIDE, Attempt, Name, TrafficMatrix

FORGET_EVERY_S = 60.0
SUGGESTED_MBPS = 1.0  # less is not worth a rule
HEAVY_MBPS, NEAR = 100.0, 20.0  # who exchanges so much over a longer distance should be near each other


class TrafficPair(NamedTuple):
    """`observed` and `declared` in Mbps, both directions together; None for what was not."""

    source: Name
    target: Name
    observed: float | None
    declared: float | None
    distance: float | None

    @property
    def suggestion(self) -> str:
        """What to write into the definition of the source; empty where nothing is worth it."""
        if self.target == OUTSIDE or self.source[0] != self.target[0]:
            return ""
        if self.observed is None or self.observed < SUGGESTED_MBPS:
            return ""
        if self.declared is not None and self.declared / 2 <= self.observed <= self.declared * 2:
            return ""
        words = f"traffic: [{{to: {self.target[1]}, mbps: {max(1, round(self.observed))}}}]"
        is_far = self.distance is not None and self.distance > NEAR
        return f"{words}, affinity: [{{near: {self.target[1]}}}]" if is_far and self.observed >= HEAVY_MBPS else words


class TrafficService:
    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._matrix = TrafficMatrix()
        self._forgotten_at = time.time()

    def take(self, reports: Mapping[str, TaskFlows]) -> None:
        """What a machine counted, by the key of each attempt."""
        now, nodes = time.time(), self._addresses() if reports else {}
        for key, report in sorted(reports.items(), key=lambda one: not one[1].listens):
            task = task_of_key(key)
            name, held = self._questions.workloads.known_as(task.workload), self._questions.workloads.held(task)
            if name is not None and held is not None:
                self._matrix.take(Attempt(key, name, held.node), report, nodes, now)
        if now - self._forgotten_at > FORGET_EVERY_S:
            self._forgotten_at = now
            self._matrix.forget_ended(self._live_keys(), now)

    def _addresses(self) -> dict[str, str]:
        return self._questions.nodes.by_address()

    def _live_keys(self) -> set[str]:
        held = self._questions.workloads.confirmed_by_backend(())
        return {one.key for some in held.values() for one in some}

    def pairs(self, most: int) -> Pieces[list[TrafficPair]]:
        """The busiest, observed or declared; a few at a time."""
        observed = {(one.source, one.target): one.mbps for one in self._matrix.pairs(time.time())}
        declared = {
            ((space, source), (space, to)): mbps for space, source, to, mbps in self._questions.balance.declared()
        }
        chosen = sorted(
            observed.keys() | declared.keys(),
            key=lambda pair: (-max(observed.get(pair, 0.0), float(declared.get(pair, 0))), pair),
        )
        found = []
        for pair in chosen[:most]:
            found.append(self._pair(pair, observed, declared))
            yield
        return found

    def _pair(
        self,
        pair: tuple[Name, Name],
        observed: Mapping[tuple[Name, Name], float],
        declared: Mapping[tuple[Name, Name], int],
    ) -> TrafficPair:
        given = declared.get(pair, declared.get((pair[1], pair[0])))
        apart = None if OUTSIDE in pair else self._questions.balance.between(*pair)
        return TrafficPair(*pair, observed.get(pair), None if given is None else float(given), apart)
