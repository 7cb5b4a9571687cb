"""Nodes whose measurements are known: registered on a live server, and reported as their agents would report them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations

from tests.patience import wait_for

from dovetail.client import Client
from dovetail.responses.probes import ProbedTrain, ProbeReport, ProbeResult

NAMES = [f"probed-{number}" for number in range(1, 7)]
#: Three nodes at each of two switches: round-trip times in microseconds.
NEAR_US, FAR_US = 100.0, 1000.0
MBPS = 940.0
PACKETS = 4


def two_leaves(names: Sequence[str] = NAMES) -> dict[tuple[str, str], float]:
    return {
        (one, other): NEAR_US if (names.index(one) < 3) == (names.index(other) < 3) else FAR_US
        for one, other in combinations(names, 2)
    }


def report_pairs(client: Client, rtts_us: Mapping[tuple[str, str], float]) -> None:
    """As the agents of the first nodes of all pairs would do after a round."""
    for prober in {one for one, _ in rtts_us}:
        pairs = {peer: rtt_us for (one, peer), rtt_us in rtts_us.items() if one == prober}
        results: list[ProbeResult] = [
            {"node": peer, "sent": PACKETS, "rtts_us": [rtt_us + step for step in range(PACKETS)]}
            for peer, rtt_us in pairs.items()
        ]
        trains: list[ProbedTrain] = [{"node": peer, "mbps": MBPS, "at_least": False} for peer in pairs]
        client.report_probes(prober, reported(results, trains))


def reported(results: list[ProbeResult], trains: list[ProbedTrain]) -> ProbeReport:
    """Nobody listens there: the nodes are not real."""
    return {"address": "127.0.0.1", "port": 9, "results": results, "trains": trains}


def join_measured(client: Client, names: Sequence[str]) -> None:
    """Until the server knows all of their pairs."""
    for name in names:
        client.register_node({"name": name, "capacity": {"cpu": 1}})
        client.report_probes(name, reported([], []))
    wait_for(lambda: client.report_probes(names[-1], reported([], []))["keys"], "it is to be probed")
    wait_for(lambda: len(client.report_probes(names[0], reported([], []))["peers"]) > 1, "all are to be probed")
    report_pairs(client, two_leaves(names))
    wait_for(lambda: client.measured_distances()["total"] == len(two_leaves(names)), "the pairs are known")


@contextmanager
def measured_nodes(client: Client) -> Iterator[list[str]]:
    """Six of them; removed at the end."""
    join_measured(client, NAMES)
    yield NAMES
    for name in NAMES:
        client.remove_node(name)
