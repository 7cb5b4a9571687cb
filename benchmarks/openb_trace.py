"""Alibaba's GPU cluster of 2023 (openb): reading it, one seed's sequence of pods, and its replay by the real engine.

The protocol is that of "Beware of Fragmentation" (USENIX ATC 2023): pods in random order until 130 % of all GPUs were
asked for, one at a time, none ever leaves, one that does not fit is given up. Node and pod lists are Alibaba's
cluster-trace-gpu-v2023.
"""

import csv
import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.harness import NotRun
from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.device import WHOLE, Gpus
from dovetail.model.event import CancelAsked, NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.resources import Capacity, ResourceRequest
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import ProfileSettings

NODES = "openb_node_list_gpu_node.csv"
MARKS = (1.0, 1.3)  # shares of all GPUs that were asked for
_SLOTS = 100_000  # tasks a node may have: the traces know no limit
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Pods:
    """What the pods of a list ask for: each distinct ask once, and which of them each pod has."""

    asks: tuple[ResourceRequest, ...]
    thousandths: tuple[int, ...]  # of GPUs, by ask
    which: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """Percent of all GPUs allocated at each mark, and how fast."""

    allocated: tuple[float, ...]
    decisions: int
    seconds: float


def read_nodes(folder: Path) -> tuple[Node, ...]:
    return tuple(
        Node(
            name=row["sn"],
            capacity=Capacity(
                cpu=int(row["cpu_milli"]) / 1000,
                memory=int(row["memory_mib"]) * _MIB,
                gpu=int(row["gpu"]),
                slots=_SLOTS,
            ),
            gpus=[Gpus(count=int(row["gpu"]), model=row["model"])],
        )
        for row in csv.DictReader(_text(folder / NODES).splitlines())
    )


def read_pods(folder: Path, trace: str) -> Pods:
    rows = csv.DictReader(_text(folder / f"openb_pod_list_{trace}.csv.gz").splitlines())
    index: dict[tuple[str, ...], int] = {}
    which = []
    for row in rows:
        key = (row["cpu_milli"], row["memory_mib"], row["num_gpu"], row["gpu_milli"], row.get("gpu_spec") or "")
        which.append(index.setdefault(key, len(index)))
    asks = tuple(_ask(*key) for key in index)
    return Pods(asks, tuple(ask.amounts().get("gpu", 0) for ask in asks), tuple(which))


def _ask(cpu_milli: str, memory_mib: str, num_gpu: str, gpu_milli: str, gpu_spec: str) -> ResourceRequest:
    number, part = int(num_gpu), int(gpu_milli)
    gpu = 0.0 if not number else number if part == WHOLE else part / WHOLE
    models = list(dict.fromkeys(gpu_spec.split("|"))) if gpu_spec and number else []
    return ResourceRequest(cpu=int(cpu_milli) / 1000, memory=int(memory_mib) * _MIB, gpu=gpu, gpu_model=models)


def _text(path: Path) -> str:
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def sequence(pods: Pods, capacity: int, seed: int) -> list[int]:
    """The asks of one seed, in order: shuffled, then sampled with replacement until enough is asked for."""
    chance = np.random.default_rng(seed)
    found = [pods.which[i] for i in chance.permutation(len(pods.which)).tolist()]
    target, asked = MARKS[-1] * capacity, 0
    for place, ask in enumerate(found):
        asked += pods.thousandths[ask]
        if asked >= target:
            return found[: place + 1]
    while asked < target:
        ask = pods.which[int(chance.integers(len(pods.which)))]
        found.append(ask)
        asked += pods.thousandths[ask]
    return found


def replay(nodes: Iterable[Node], pods: Pods, asks: list[int], profile: ProfileSettings, seed: int) -> Replay:
    """The engine's own time alone is counted: submission, decision, and taking note of what changed."""
    engine = Engine(EngineSettings(seed=seed, profiles={"openb": profile}, default_profile="openb"))
    for node in nodes:
        engine.handle(NodeJoined(node), 0.0)
    engine.take_changes(0.0)
    devices = engine._state.cluster.devices
    capacity = WHOLE * int(devices.there.sum())
    models = [Workload(name="pod", resources=ask) for ask in pods.asks]
    specs = [models[ask].model_copy(update={"name": f"pod-{place}"}) for place, ask in enumerate(asks)]
    marks = [mark * capacity for mark in MARKS]
    found: list[float] = []
    arrived = allocated = 0
    seconds = 0.0
    for id_, (ask, spec) in enumerate(zip(asks, specs, strict=True), 1):
        start = perf_counter()
        engine.handle(Submitted(id_, spec), float(id_))
        engine.handle(Tick(limit=1), float(id_))
        placed = not engine._state.work[id_].waiting
        if not placed:
            engine.handle(CancelAsked(id_, "no retry"), float(id_))
        engine.take_changes(float(id_))
        seconds += perf_counter() - start
        arrived += pods.thousandths[ask]
        allocated += pods.thousandths[ask] if placed else 0
        while len(found) < len(marks) and arrived >= marks[len(found)]:
            found.append(100.0 * allocated / capacity)
    return Replay(tuple(found), len(asks), seconds)
