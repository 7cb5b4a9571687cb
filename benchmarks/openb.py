"""Alibaba's GPU cluster filled to the brim: which share of its GPUs is allocated when 100 % and 130 % were asked for.

First two published policies are played, which must come out as published: the bars are half a point. Then our profile
`fragmentation`, with the same settings for every trace, learning what is typical as work comes: the bars are the
published means of FGD plus two of their standard deviations. Needs the traces (`--data DIR` with `openb/` in it).
`--seeds N` plays fewer than ten.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, pstdev
from typing import NamedTuple

from benchmarks.harness import Bench, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import middle
from benchmarks.openb_policies import BEST_FIT, OURS, RANDOM
from benchmarks.openb_trace import MARKS, Pods, Replay, read_nodes, read_pods, replay, sequence
from dovetail.model.device import WHOLE
from dovetail.model.node import Node
from dovetail.placement.pipeline.profiles import ProfileSettings

FIRST_SEED = 42
TRACES = ("default", "gpushare40", "gpuspec33", "multigpu50")
PUBLISHED = "published_allocation.csv"
TOLERANCE = 0.5  # points
UNIT = "% of GPUs"


class Figures(NamedTuple):
    """Published: mean and standard deviation at each mark."""

    means: tuple[float, float]
    deviations: tuple[float, float]


#: FGD at 100 % and 130 % (ATC 2023, ten seeds), from which the bars follow.
FGD: dict[str, Figures] = {
    "default": Figures((95.227, 95.391), (0.101, 0.077)),
    "gpushare40": Figures((93.961, 94.148), (0.070, 0.062)),
    "gpuspec33": Figures((87.836, 94.547), (0.175, 0.137)),
    "multigpu50": Figures((97.094, 97.178), (0.101, 0.098)),
}
REPRODUCED: dict[str, tuple[str, ProfileSettings]] = {
    "random": ("01-Random", RANDOM),
    "best_fit": ("05-BestFit", BEST_FIT),
}


def _name(trace: str, what: str, mark: float) -> str:
    return f"openb.{trace}_{what}_{mark * 100:.0f}"


DIFFERENCES = [
    at_most(_name(trace, f"{policy}_off", mark), TOLERANCE, "points from published")
    for policy in REPRODUCED
    for trace in TRACES
    for mark in MARKS
]
OUR_BARS = [
    at_least(_name(trace, "fragmentation", mark), FGD[trace].means[i] + 2 * FGD[trace].deviations[i], UNIT)
    for trace in TRACES
    for i, mark in enumerate(MARKS)
]
SPEED = at_least("openb.fragmentation_placements_per_s", 1000.0, "placements/s")


def _published(folder: Path, trace: str, policy: str) -> Figures:
    path = folder / PUBLISHED
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    for row in csv.DictReader(path.read_text().splitlines()):
        if (row["trace"], row["policy"]) == (trace, policy):
            names = [f"alloc_pct_at_{mark * 100:.0f}" for mark in MARKS]
            means, deviations = ([float(row[f"{name}_{what}"]) for name in names] for what in ("mean", "std"))
            return Figures((means[0], means[1]), (deviations[0], deviations[1]))
    raise NotRun(f"{path} has nothing about {policy} on {trace}")


def _played(
    bench: Bench, label: str, nodes: tuple[Node, ...], pods: Pods, profile: ProfileSettings
) -> Iterator[Replay]:
    capacity = WHOLE * sum(node.capacity.gpu for node in nodes)
    for seed in range(FIRST_SEED, FIRST_SEED + bench.seeds):
        run = replay(nodes, pods, sequence(pods, capacity, seed), profile, seed)
        reached = "  ".join(f"{share:.2f}" for share in run.allocated)
        bench.say(f"{label}, seed {seed}: {reached} %, {run.decisions / run.seconds:.0f} placements/s")
        yield run


def _at(runs: list[Replay], mark: int) -> Measured:
    each = [run.allocated[mark] for run in runs]
    return Measured(fmean(each), min(each), max(each), f"mean of {len(each)}, std {pstdev(each):.2f}")


@benchmark(*DIFFERENCES)
def published_policies(bench: Bench) -> Iterator[tuple[str, Measured]]:
    """To show that the replay is right."""
    folder = bench.data_folder("openb")
    nodes = read_nodes(folder)
    for policy, (listed, profile) in REPRODUCED.items():
        for trace in TRACES:
            published = _published(folder, trace, listed)
            runs = list(_played(bench, f"{policy} on {trace}", nodes, read_pods(folder, trace), profile))
            for i, mark in enumerate(MARKS):
                found = _at(runs, i)
                off = abs(found.value - published.means[i])
                how = f"{found.value:.2f} for {published.means[i]:.2f}, {found.how}"
                yield _name(trace, f"{policy}_off", mark), Measured(off, off, off, how)


@benchmark(*OUR_BARS, SPEED)
def ours(bench: Bench) -> Iterator[tuple[str, Measured]]:
    folder = bench.data_folder("openb")
    nodes = read_nodes(folder)
    speeds: list[float] = []
    for trace in TRACES:
        if _published(folder, trace, "06-FGD") != FGD[trace]:
            raise ValueError(f"{folder / PUBLISHED} and the bars differ about FGD on {trace}")
        runs = list(_played(bench, f"fragmentation on {trace}", nodes, read_pods(folder, trace), OURS))
        speeds += [run.decisions / run.seconds for run in runs]
        for i, mark in enumerate(MARKS):
            yield _name(trace, "fragmentation", mark), _at(runs, i)
    yield SPEED.name, middle(speeds, "replays of all traces")
