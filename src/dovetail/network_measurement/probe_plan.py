"""Who probes whom, and how often: all pairs of a small cluster, a sample of a large one, within a budget of bytes.

Each pair is probed from one side. In a large cluster a node probes its next neighbours in its own domain, a few
landmarks that all nodes probe, and others at random. Guarantees: the same nodes, domains and seed give the same plan;
`round_s` is never so short that the probes of all nodes together cost more than the budget.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

#: What Ethernet, IP and UDP add to a packet: preamble, header, checksum and gap (38), IPv4 (20), UDP (8).
WIRE_OVERHEAD_BYTES = 66


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """`all_pairs_up_to`: so many nodes probe every other. In a larger cluster each probes `peers`: of these
    `landmarks` are the same for all, and `in_domain` are of its own domain."""

    all_pairs_up_to: int = 200
    peers: int = 32
    landmarks: int = 8
    in_domain: int = 8


def probe_peers(
    nodes: Sequence[str],
    domains: Mapping[str, str],
    limits: PlanLimits,
    near: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
) -> dict[str, list[str]]:
    """By node, whom it probes. `domains`: the narrowest domain of each node that is in one. `near`: nodes that seem to
    be near to one that is in none, so that estimates of near ones are replaced by measurements."""
    ordered = sorted(nodes)
    if len(ordered) <= limits.all_pairs_up_to:
        return _all_pairs(ordered)
    chosen: dict[str, dict[str, None]] = {node: {} for node in ordered}
    _add_own_domain(chosen, domains, limits.in_domain)
    for node, seemingly in (near or {}).items():
        if node in chosen and node not in domains:
            chosen[node].update(dict.fromkeys(one for one in seemingly[: limits.in_domain] if one in chosen))
    random = np.random.default_rng(seed)
    landmarks = [ordered[index] for index in random.permutation(len(ordered))[: limits.landmarks].tolist()]
    for node, peers in chosen.items():
        peers.update(dict.fromkeys(landmarks))
        peers.pop(node, None)
        for index in random.permutation(len(ordered))[: 2 * limits.peers].tolist():
            if len(peers) >= limits.peers:
                break
            if ordered[index] != node and node not in chosen[ordered[index]]:
                peers[ordered[index]] = None
    return {node: list(peers) for node, peers in chosen.items()}


def _all_pairs(ordered: Sequence[str]) -> dict[str, list[str]]:
    """Each node probes about half of the others."""
    found: dict[str, list[str]] = {node: [] for node in ordered}
    for first, one in enumerate(ordered):
        for second in range(first + 1, len(ordered)):
            other = ordered[second]
            prober, peer = (one, other) if (first + second) % 2 else (other, one)
            found[prober].append(peer)
    return found


def _add_own_domain(chosen: dict[str, dict[str, None]], domains: Mapping[str, str], many: int) -> None:
    """The next ones in a ring, so that every member is probed as often as it probes."""
    members: dict[str, list[str]] = {}
    for node in chosen:
        if node in domains:
            members.setdefault(domains[node], []).append(node)
    for ring in members.values():
        for place, node in enumerate(ring):
            for step in range(1, min(many, (len(ring) - 1) // 2) + 1):
                chosen[node][ring[(place + step) % len(ring)]] = None


def round_bytes(pairs: int, packets: int, packet_bytes: int) -> int:
    """What one round costs on the wire: each packet is answered by one of the same size."""
    return pairs * packets * 2 * (packet_bytes + WIRE_OVERHEAD_BYTES)


def round_s(cost_bytes: int, budget_bytes_s: float, shortest_s: float) -> float:
    """How long a round takes, so that it stays within the budget."""
    return max(shortest_s, cost_bytes / budget_bytes_s)
