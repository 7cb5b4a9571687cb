"""The measured network at full size: how good estimates are, and what probes cost.

`network.coordinates` is the median relative error of estimated round-trip times of 1,000 nodes in a fabric of three
levels, of which each has probed 32 others, at random, with a noise of 10 %; only pairs that nobody measured count.
`network.stated_error` is the share of these pairs that are within the error that is stated for them.
`network.probe_cost` is what all probes of 1,000 nodes cost together: the sizes of real packets with what goes around
them on the wire, answers included, the trains that measure bandwidth, and what agents and the control plane tell each
other about them. `network.map` is how long it takes to compute all distances.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from time import process_time

import numpy as np
from tests.unit.network_measurement.fabrics import three_levels

from benchmarks.harness import Bar, Bench, Better, Measured, at_least, at_most, benchmark
from benchmarks.measuring import middle, once
from dovetail.access.probe_keys import probe_id
from dovetail.agent.probing.packets import (
    TRAIN_PACKET_BYTES,
    TRAIN_PACKETS,
    PacketKind,
    ProbePacket,
    encode,
)
from dovetail.control.subsystems.network.measuring import SLOT_S
from dovetail.control.subsystems.network.probe_board import ProbeAssignment, ProbeBoard
from dovetail.control.subsystems.network.settings import MeasuringSettings
from dovetail.model.network.topology import DistanceWeights
from dovetail.network_measurement.network_map import make_map
from dovetail.network_measurement.probe_plan import (
    WIRE_OVERHEAD_BYTES,
    PlanLimits,
    probe_peers,
    round_bytes,
    round_s,
)
from dovetail.responses.probes import ProbeReport, ProbeResult

NODES, IN_LEAF, LEAVES_IN_SPINE = 1_000, 32, 8
NOISE = 0.1
ROUNDS = 3
HTTP_BYTES = 1000  # headers of a request and its answer, and packets around them
COORDINATES = at_most("network.coordinates", 12.0, "%")
STATED = at_least("network.stated_error", 80.0, "%")
MAP = Bar("network.map", "s", Better.LOWER, None)
PROBE_COST = at_most("network.probe_cost", 1.0, "MB/s")


@benchmark(COORDINATES, STATED, MAP)
def coordinates(bench: Bench) -> Iterator[tuple[str, Measured]]:
    errors, within, took_s = [], [], []
    for seed in range(ROUNDS):
        random = np.random.default_rng(seed)
        fabric = three_levels(NODES, IN_LEAF, LEAVES_IN_SPINE, random)
        peers = probe_peers(fabric.names, {}, PlanLimits(landmarks=0, in_domain=0), seed=seed)
        pairs = [(node, peer) for node, others in peers.items() for peer in others]
        measured = fabric.measured(pairs, NOISE, random)
        began = process_time()
        found = make_map(measured, DistanceWeights(), random)
        took_s.append(process_time() - began)
        upper = np.triu_indices(NODES, 1)
        guessed = ~found.measured[upper]
        relative = (np.abs(found.rtt_us - fabric.rtt_us)[upper] / fabric.rtt_us[upper])[guessed]
        stated = found.error[upper][guessed] / found.distance[upper][guessed]
        errors.append(100 * float(np.median(relative)))
        within.append(100 * float((relative <= stated).mean()))
        bench.say(f"{len(pairs)} pairs: {errors[-1]:.2f} % off, {within[-1]:.1f} % within the stated error")
        leaves = np.array([fabric.leaves[name] for name in fabric.names])
        in_leaf = (leaves[:, None] == leaves)[upper][guessed]
        bench.say(f"of pairs in one leaf, {100 * np.median(relative[in_leaf]):.0f} % off")
    yield COORDINATES.name, middle(errors)
    yield STATED.name, middle(within)
    yield MAP.name, middle(took_s)


@benchmark(PROBE_COST)
def probe_cost(_: Bench) -> Iterator[tuple[str, Measured]]:
    settings, names = MeasuringSettings(), [f"node-{number:04d}" for number in range(NODES)]
    peers = probe_peers(names, {}, PlanLimits(settings.all_pairs_up_to, settings.peers))
    packet = len(encode(ProbePacket(PacketKind.PROBE, 0, probe_id(names[0]), 0), b"key"))
    train = len(encode(ProbePacket(PacketKind.TRAIN, 0, probe_id(names[0]), 0), b"key", TRAIN_PACKET_BYTES))
    cost = round_bytes(sum(map(len, peers.values())), settings.packets, packet)
    probes = cost / round_s(cost, settings.budget, settings.probe_every)
    train_bytes = TRAIN_PACKETS * (train + WIRE_OVERHEAD_BYTES) + 2 * (packet + WIRE_OVERHEAD_BYTES)
    slot_s = max(SLOT_S, train_bytes / settings.bandwidth_budget)
    trains = max(int(settings.bandwidth_budget * slot_s / train_bytes), 1) * train_bytes / slot_s
    told = _told_bytes(names, peers, settings.packets) * NODES / round_s(cost, settings.budget, settings.probe_every)
    yield PROBE_COST.name, once((probes + trains + told) / 1e6, "probes, answers, trains, reports, orders")


def _told_bytes(names: list[str], peers: Mapping[str, Sequence[str]], packets: int) -> int:
    """What one agent reports after a round, and what it is told to do in the next."""
    board = ProbeBoard()
    listening: ProbeReport = {"address": "10.100.100.100", "port": 50_000, "results": [], "trains": []}
    for name in names:
        board.report(name, listening, 0.0, 0)
    board.assign(ProbeAssignment(60.0, packets, b"secret", peers))
    results: list[ProbeResult] = [
        {"node": peer, "sent": packets, "rtts_us": [1234.567] * packets} for peer in peers[names[0]]
    ]
    orders = board.report(names[0], listening, 0.0, 0)
    return len(json.dumps({**listening, "results": results})) + len(json.dumps(orders)) + HTTP_BYTES
