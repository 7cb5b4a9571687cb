"""Where routes and the subsystem meet: agents with their orders, results that wait, and what is known of the network.

Routes run in the server and the subsystem on its own thread: tables are guarded by a lock that nobody holds for longer
than it takes to look something up. Statistics of a pair are changed by the subsystem alone. Left to others: who probes
whom (`network_measurement.probe_plan`), what results mean (`measuring`).
"""

import threading
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dovetail.access.probe_keys import node_key, pair_key, probe_id
from dovetail.control.subsystems.network.pair_trends import PAIR_SERIES, columns, round_of, trend_key
from dovetail.control.trends.keyed_book import KeyedBook
from dovetail.network_measurement.contradictions import DescriptionContradiction
from dovetail.network_measurement.network_map import NetworkMap
from dovetail.network_measurement.pair_history import PairFigures, PairHistory
from dovetail.network_measurement.train_plan import Train
from dovetail.responses.probes import ProbeOrders, ProbePeer, ProbeReport, TrainOrder
from dovetail.store.subsystem_tables import SubsystemTables

Pair = tuple[str, str]
#: When an agent that has nothing to probe asks again.
ASK_AGAIN_S = 2.0
OFF_ASK_AGAIN_S = 300.0
_MOST_WAITING = 20_000  # reports


def pair_of(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


@dataclass(slots=True)
class ProbedAgent:
    """Where it listens, or None; when it reported last, by the monotonic clock."""

    address: str | None
    port: int | None
    seen_at: float


@dataclass(frozen=True, slots=True)
class ProbeAssignment:
    """For all agents. `secret` makes the keys. `trains`: by sender; `at_s` is by the monotonic clock."""

    round_s: float
    packets: int
    secret: bytes
    peers: Mapping[str, Sequence[str]]
    trains: Mapping[str, Sequence[Train]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MeasuredBetween:
    """What is known of one pair. `figures` is None where it is an estimate. `error`: of the distance."""

    one: str
    other: str
    distance: float
    error: float
    rtt_us: float
    figures: PairFigures | None


class ProbeBoard:
    def __init__(self, tables: SubsystemTables | None = None) -> None:
        self._lock = threading.Lock()
        self.trends = None if tables is None else KeyedBook(tables, PAIR_SERIES)
        self.is_enabled = False  # the subsystem runs, and is to measure
        self._agents: dict[str, ProbedAgent] = {}
        self._assignment: ProbeAssignment | None = None
        self._waiting: list[tuple[str, ProbeReport]] = []
        self._pairs: dict[Pair, PairHistory] = {}
        self._map: NetworkMap | None = None
        self._places: dict[str, int] = {}
        self._contradictions: list[DescriptionContradiction] = []

    # --- for routes --------------------------------------------------------------------------------------------

    def report(self, node: str, report: ProbeReport, now: float, epoch: int) -> ProbeOrders:
        """What an agent measured; returns what it measures next. `now`: by the monotonic clock."""
        with self._lock:
            self._agents[node] = ProbedAgent(report["address"], report["port"], now)
            if (report["results"] or report["trains"]) and len(self._waiting) < _MOST_WAITING:
                self._waiting.append((node, report))
            assignment = self._assignment
            if assignment is None:
                again_s = ASK_AGAIN_S if self.is_enabled else OFF_ASK_AGAIN_S
                return {"again_s": again_s, "packets": 0, "keys": [], "peers": [], "trains": []}
            return self._orders(node, assignment, now, epoch)

    def _orders(self, node: str, assignment: ProbeAssignment, now: float, epoch: int) -> ProbeOrders:
        secret = assignment.secret
        peers = [found for one in assignment.peers.get(node, ()) if (found := self._peer(node, one, secret, epoch))]
        trains: list[TrainOrder] = []
        for train in assignment.trains.get(node, ()):
            in_s = train.at_s - now
            found = self._peer(node, train.receiver, secret, epoch)
            if found is not None and 0 <= in_s < assignment.round_s:  # later ones come with the next orders
                trains.append({**found, "in_s": in_s})
        return {
            "again_s": assignment.round_s if peers or trains else min(assignment.round_s, ASK_AGAIN_S),
            "packets": assignment.packets,
            "keys": [{"epoch": one, "key": node_key(secret, one, node).hex()} for one in (epoch - 1, epoch, epoch + 1)],
            "peers": peers,
            "trains": trains,
        }

    def _peer(self, node: str, peer: str, secret: bytes, epoch: int) -> ProbePeer | None:
        agent = self._agents.get(peer)
        if agent is None or agent.address is None or agent.port is None:
            return None
        key = pair_key(node_key(secret, epoch, peer), probe_id(node))
        return {"node": peer, "address": agent.address, "port": agent.port, "epoch": epoch, "key": key.hex()}

    def between(self, one: str, other: str) -> MeasuredBetween | None:
        """None: nothing is known."""
        with self._lock:
            known, history = self._map, self._pairs.get(pair_of(one, other))
            start, end = self._places.get(one), self._places.get(other)
        if known is None or start is None or end is None or np.isnan(known.distance[start, end]):
            return None
        figures = None if history is None else history.figures()
        distance, error, rtt_us = (float(table[start, end]) for table in (known.distance, known.error, known.rtt_us))
        return MeasuredBetween(one, other, distance, error, rtt_us, figures)

    def nearest_pairs(
        self, node: str | None, are_known: Container[str], limit: int
    ) -> tuple[list[MeasuredBetween], int]:
        """The first `limit` pairs, nearest first, and how many there are: every measured pair, or with `node` all pairs
        with that one of which something is known. `are_known`: nodes that are still there. May take a while."""
        with self._lock:
            known, places = self._map, self._places
            pairs = [(node, one) for one in places if one != node] if node is not None else list(self._pairs)
        if known is None:
            return [], 0
        ranked = sorted(
            (float(known.distance[places[one], places[other]]), one, other)
            for one, other in pairs
            if one in places and other in places and one in are_known and other in are_known
        )
        ranked = [pair for pair in ranked if pair[0] == pair[0]]  # without nan
        found = [self.between(one, other) for _, one, other in ranked[:limit]]
        return [one for one in found if one is not None], len(ranked)

    @property
    def network_map(self) -> NetworkMap | None:
        with self._lock:
            return self._map

    @property
    def contradictions(self) -> list[DescriptionContradiction]:
        with self._lock:
            return list(self._contradictions)

    @property
    def is_in_use(self) -> bool:
        """Has an agent reported?"""
        return bool(self._agents)

    # --- for the subsystem -------------------------------------------------------------------------------------

    def assign(self, assignment: ProbeAssignment | None) -> None:
        """None: nobody measures."""
        with self._lock:
            self._assignment = assignment

    def listening(self, now: float, silent_s: float) -> list[str]:
        """Agents that can be probed and have reported lately, by name; others are forgotten."""
        with self._lock:
            self._agents = {name: one for name, one in self._agents.items() if now - one.seen_at <= silent_s}
            return sorted(name for name, one in self._agents.items() if one.port is not None)

    def take_in(self, at: float, alive: Container[str]) -> bool:
        """Add what agents reported to the statistics. Returns whether something has changed that counts. Raises
        StoreError."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        changed = False
        rounds: list[tuple[str, tuple[float, float]]] = []
        for node, report in waiting:
            if node not in alive:
                continue
            for result in report["results"]:
                if result["node"] in alive and result["sent"]:  # one that has gone says nothing about the network
                    history = self._history(node, result["node"])
                    changed |= history.add_round(result["rtts_us"], result["sent"], at)
                    rounds.append((trend_key(node, result["node"]), round_of(result)))
            for train in report["trains"]:
                if train["node"] in alive and train["mbps"] > 0:
                    history = self._history(node, train["node"])
                    changed |= history.add_train(train["mbps"], at, at_least=train["at_least"])
        if rounds and self.trends is not None:
            self.trends.add(at, *columns(rounds))
        return changed

    def _history(self, one: str, other: str) -> PairHistory:
        """Changed by the subsystem alone."""
        with self._lock:
            return self._pairs.setdefault(pair_of(one, other), PairHistory())

    def put_pairs(self, pairs: Mapping[Pair, PairHistory]) -> None:
        """From before a restart."""
        with self._lock:
            for pair, history in pairs.items():
                self._pairs.setdefault(pair, history)

    def forget_nodes(self, nodes: Container[str]) -> None:
        """Nodes that were removed."""
        with self._lock:
            self._pairs = {
                pair: one for pair, one in self._pairs.items() if pair[0] not in nodes and pair[1] not in nodes
            }
            self._agents = {name: one for name, one in self._agents.items() if name not in nodes}

    def forget(self, before: float) -> bool:
        """Pairs that were not measured since. Returns whether there were any."""
        with self._lock:
            old = [pair for pair, history in self._pairs.items() if history.measured_at < before]
            for pair in old:
                del self._pairs[pair]
            return bool(old)

    def pairs(self) -> dict[Pair, PairHistory]:
        with self._lock:
            return dict(self._pairs)

    def show(self, network_map: NetworkMap, contradictions: Sequence[DescriptionContradiction]) -> None:
        with self._lock:
            self._map, self._contradictions = network_map, list(contradictions)
            self._places = {name: place for place, name in enumerate(network_map.names)}
