"""Where routes and the subsystem meet: agents with their orders, results that wait, and what is known of the network.

Routes run in the server and the subsystem on its own thread, so everything here is guarded by one lock and every method
returns at once. Left to others: who probes whom (`network_measurement.probe_plan`), what results mean (`measuring`).
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dovetail.access.probe_keys import node_key, pair_key, probe_id
from dovetail.network_measurement.contradictions import DescriptionContradiction
from dovetail.network_measurement.network_map import NetworkMap
from dovetail.network_measurement.pair_history import PairFigures, PairHistory
from dovetail.network_measurement.train_plan import Train
from dovetail.responses.probes import ProbeOrders, ProbePeer, ProbeReport, TrainOrder

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
    def __init__(self) -> None:
        self._lock = threading.Lock()
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
            return self._between(one, other)

    def of_node(self, node: str) -> list[MeasuredBetween]:
        """Every pair with this node of which something is known, by name of the other."""
        with self._lock:
            found = (self._between(node, other) for other in self._places if other != node)
            return [one for one in found if one is not None]

    def measured_pairs(self) -> list[MeasuredBetween]:
        """Those that somebody measured, by name."""
        with self._lock:
            found = (self._between(*pair) for pair in sorted(self._pairs))
            return [one for one in found if one is not None]

    def _between(self, one: str, other: str) -> MeasuredBetween | None:
        start, end = self._places.get(one), self._places.get(other)
        if (
            self._map is None
            or start is None
            or end is None
            or self._map.distance[start, end] != (self._map.distance[start, end])
        ):
            return None
        history = self._pairs.get(pair_of(one, other))
        return MeasuredBetween(
            one,
            other,
            float(self._map.distance[start, end]),
            float(self._map.error[start, end]),
            float(self._map.rtt_us[start, end]),
            None if history is None else history.figures(),
        )

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

    def take_in(self, at: float, alive: set[str]) -> bool:
        """Add what agents reported to the statistics. Returns whether something has changed that counts."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            changed = False
            for node, report in waiting:
                for result in report["results"]:
                    if result["node"] in alive and result["sent"]:  # one that has gone says nothing about the network
                        history = self._pairs.setdefault(pair_of(node, result["node"]), PairHistory())
                        changed |= history.add_round(result["rtts_us"], result["sent"], at)
                for train in report["trains"]:
                    if train["mbps"] > 0:
                        history = self._pairs.setdefault(pair_of(node, train["node"]), PairHistory())
                        changed |= history.add_train(train["mbps"], at, at_least=train["at_least"])
            return changed

    def put_pairs(self, pairs: Mapping[Pair, PairHistory]) -> None:
        """From before a restart."""
        with self._lock:
            for pair, history in pairs.items():
                self._pairs.setdefault(pair, history)

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
