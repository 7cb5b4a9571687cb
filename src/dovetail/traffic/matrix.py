"""Observed traffic between workloads, from what machines counted for each attempt.

A report names its peers by address and port. Whoever listens there is found among the ports that all attempts report;
an address of the loopback is on the same node. Rates fade: after `HALF_LIFE_S` a pair that went silent counts half.
Guarantees: pure and bounded; what nobody listens on is the world outside, and is counted as such.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import NamedTuple

from dovetail.model.task_flows import TaskFlows

HALF_LIFE_S = 300.0
REPORTED_EVERY_S = 10.0  # the first report of a pair covers about so much
MOST_PAIRS = 20_000
_BITS = 8 / 1e6

Name = tuple[str, str]  # namespace, and workload or service
OUTSIDE: Name = ("", "outside")


class Attempt(NamedTuple):
    """`name`: its workload, or the service it is a replica of."""

    key: str
    name: Name
    node: str


class ObservedPair(NamedTuple):
    """`source` has connected to `target`; both directions together, in Mbps."""

    source: Name
    target: Name
    mbps: float


@dataclass(slots=True)
class _Rate:
    """`began_at`: a mean over a shorter time than a few half-lives is corrected for that."""

    bytes_per_s: float
    at: float
    began_at: float

    def add(self, amount: float, now: float) -> None:
        """An exponentially weighted mean of the rate."""
        kept = self.faded(now)
        self.bytes_per_s, self.at = kept + amount * _LN2 / HALF_LIFE_S, now

    def now(self, now: float) -> float:
        seen = 1.0 - 0.5 ** (max(1.0, self.at - self.began_at) / HALF_LIFE_S)
        return float(self.faded(now) / seen)

    def faded(self, now: float) -> float:
        return float(self.bytes_per_s * 0.5 ** (max(0.0, now - self.at) / HALF_LIFE_S))


_LN2 = 0.6931471805599453


@dataclass(slots=True)
class TrafficMatrix:
    _listeners: dict[tuple[str, int], Attempt] = field(default_factory=dict)  # by node and port
    _rates: dict[tuple[Name, Name], _Rate] = field(default_factory=dict)

    def take(self, attempt: Attempt, report: TaskFlows, nodes: Mapping[str, str], now: float) -> None:
        """`nodes`: the node of each address."""
        for port in report.listens:
            self._listeners[attempt.node, port] = attempt
        for flow in report.flows:
            node = attempt.node if _is_loopback(flow.address) else nodes.get(flow.address, "")
            peer = self._listeners.get((node, flow.port))
            name = OUTSIDE if peer is None else peer.name
            if name != attempt.name:
                self._add((attempt.name, name), flow.sent + flow.received, now)

    def _add(self, pair: tuple[Name, Name], amount: int, now: float) -> None:
        rate = self._rates.get(pair)
        if rate is None:
            if len(self._rates) >= MOST_PAIRS:
                return
            rate = self._rates[pair] = _Rate(0.0, now, now - REPORTED_EVERY_S)
        rate.add(amount, now)

    def forget_ended(self, live: set[str], now: float) -> None:
        """Attempts that have ended listen no more; pairs that faded away are dropped."""
        self._listeners = {at: one for at, one in self._listeners.items() if one.key in live}
        self._rates = {pair: rate for pair, rate in self._rates.items() if rate.faded(now) >= 1.0}

    def pairs(self, now: float) -> list[ObservedPair]:
        """Busiest first."""
        rates = self._rates.items()
        found = [ObservedPair(source, target, rate.now(now) * _BITS) for (source, target), rate in rates]
        return sorted(found, key=lambda one: (-one.mbps, one.source, one.target))


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
