"""The market: what 5,000 jobs with deadlines cost over an on-premise cluster and three clouds, and what choosing costs.

Jobs of Philly's trace (`benchmarks/market_replay.py`) are played with two policies by the same engine. The baseline
fills the on-premise nodes and sends what finds no room there to the cheapest machine on demand, at once. Ours prefers
`cheapest`, knows the deadlines, waits for own nodes while it can (`order: savings`), takes them from work that would
cost less elsewhere (`preempt: savings`) and may use spot machines. Several stretches of the trace, with other loads and
other luck, are played each by itself. Small instances of the same kind are compared with an offline optimum that knows
all jobs in advance (`benchmarks/market_optimum.py`).
Needs `--data DIR` with `philly/` in it, but for the time of a decision.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.market_bound import bound_of_known, known_at_start
from benchmarks.market_optimum import optimum
from benchmarks.market_replay import Paid, draw, draw_few, own_nodes, play
from benchmarks.philly_trace import PhillyJob, read_trace
from dovetail.engine.engine import Engine
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.price_tables import list_prices

JOBS = 5000


@dataclass(frozen=True, slots=True)
class Stretch:
    """Jobs ask for `load` times the GPUs of so many nodes."""

    seed: int
    load: float
    nodes: int


STRETCHES = (Stretch(1, 2.0, 20), Stretch(2, 3.0, 16), Stretch(3, 1.5, 24))
SMALL_NODES, GRID_S = 1, 1800.0
SMALL = ((1, 3.0), (2, 4.0), (3, 5.0), (4, 3.0))  # seeds and loads
OFFERS, DECISIONS = 2000, 200
KNOWN = (
    *((seed, load, 1) for seed, load in SMALL),
    (11, 1.5, 1),
    (12, 2.0, 1),
    (13, 3.0, 1),
    (14, 5.0, 1),
    (16, 2.0, 2),
)
"""Seeds, loads and nodes."""

SAVING = at_least("market.replay_saving", 0.25, "share of what filling on-premise, then the cheapest list price costs")
LATE = at_most("market.replay_late", 0.0, "jobs late, above the baseline")
SPOT_AT_ONCE = Bar("market.replay_saving_over_spot", "share of what the same with spot costs", Better.HIGHER, None)
SPOT_LATE = Bar("market.replay_late_with_spot", "jobs late, if spot machines are taken at once", Better.LOWER, None)
GAP = at_most("market.optimum_gap", 0.05, "share above the offline optimum, small instances together")
KNOWN_GAP = at_most("market.known_gap", 0.05, "share above a lower bound, all jobs known at the start, together")
KNOWN_LATE = at_most("market.known_late", 0.0, "jobs late, all known at the start")
ADDED = at_most("market.offers_added", 1.0, "ms to a decision, by 2,000 instance types and zones")


@cache
def _trace(bench: Bench) -> tuple[PhillyJob, ...]:
    path: Path = bench.data_folder("philly") / "philly.csv.gz"
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    return read_trace(path)


@benchmark(SAVING, LATE, SPOT_AT_ONCE, SPOT_LATE)
def replay(bench: Bench) -> Iterator[tuple[str, Measured]]:
    savings, late, over_spot, spot_late = [], [], [], []
    for stretch in STRETCHES:
        instance = draw(_trace(bench), JOBS, stretch.load, stretch.nodes, stretch.seed)
        base = play(instance, waits=False, spot=False, order="priority", seed=stretch.seed)
        at_once = play(instance, waits=False, spot=True, order="priority", seed=stretch.seed)
        ours = play(instance, waits=True, spot=True, order="savings", seed=stretch.seed, timetable=False)
        bench.say(f"load {stretch.load:g}: baseline {_told(base)}; spot at once {_told(at_once)}; ours {_told(ours)}")
        savings.append(1 - ours.usd / base.usd)
        late.append(float(ours.late - base.late))
        over_spot.append(1 - ours.usd / at_once.usd)
        spot_late.append(float(at_once.late))
    how = f"the least of {len(STRETCHES)} stretches of {JOBS} jobs"
    yield SAVING.name, Measured(min(savings), min(savings), max(savings), how)
    yield LATE.name, Measured(max(late), min(late), max(late), how.replace("least", "most"))
    yield SPOT_AT_ONCE.name, Measured(min(over_spot), min(over_spot), max(over_spot), how)
    yield SPOT_LATE.name, Measured(max(spot_late), min(spot_late), max(spot_late), how.replace("least", "most"))


def _told(paid: Paid) -> str:
    return f"{paid.usd:.0f} USD ({paid.spot_usd:.0f} spot), {paid.late} late"


@benchmark(GAP)
def gap(bench: Bench) -> Iterator[tuple[str, Measured]]:
    paid, best, gaps = 0.0, 0.0, []
    for seed, load in SMALL:
        instance = draw_few(_trace(bench), load, SMALL_NODES, seed, GRID_S)
        found = optimum(instance, GRID_S, spot=True)
        ours = play(instance, waits=True, spot=True, order="savings", seed=seed)
        bench.say(f"seed {seed}, {len(instance.jobs)} jobs: optimum {found.usd:.1f} USD, ours {_told(ours)}")
        paid, best = paid + ours.usd, best + found.usd
        gaps.append(ours.usd / found.usd - 1)
    yield GAP.name, Measured(paid / best - 1, min(gaps), max(gaps), f"{len(SMALL)} instances, together")


@benchmark(KNOWN_GAP, KNOWN_LATE)
def known_gap(bench: Bench) -> Iterator[tuple[str, Measured]]:
    """Without spot machines: what they cost is luck."""
    paid, best, gaps, late = 0.0, 0.0, [], 0
    for seed, load, nodes in KNOWN:
        instance = known_at_start(draw_few(_trace(bench), load, nodes, seed, GRID_S))
        ours = play(instance, waits=True, spot=False, order="savings", seed=seed)
        bound = bound_of_known(instance, GRID_S, ours.usd)
        bench.say(f"seed {seed}, {len(instance.jobs)} jobs, {nodes} nodes: bound {bound:.1f} USD, ours {_told(ours)}")
        paid, best, late = paid + ours.usd, best + bound, late + ours.late
        gaps.append(ours.usd / bound - 1)
    how = f"{len(KNOWN)} instances, together"
    yield KNOWN_GAP.name, Measured(paid / best - 1, min(gaps), max(gaps), how)
    yield KNOWN_LATE.name, Measured(float(late), float(late), float(late), how)


@benchmark(ADDED)
def offers_added(_: Bench) -> Iterator[tuple[str, Measured]]:
    """The time of a decision for work that compares prices, with offers and without."""
    rounds = [_decision_ms(OFFERS) - _decision_ms(0) for _ in range(5)]
    yield ADDED.name, Measured(median(rounds), min(rounds), max(rounds), "median of 5")


def _decision_ms(offers: int) -> float:
    """Each shape comes once: nothing of a decision is cached."""
    engine = Engine()
    for node in own_nodes(50):
        engine.handle(NodeJoined(node), 0.0)
    listed = list_prices()
    for number in range(offers):
        one = listed[number // 2 % len(listed)]
        engine.handle(NodeJoined(one.node(f"offer-{number}", spot=number % 2 == 1)), 0.0)
    for number in range(1, DECISIONS + 1):
        spec = {
            "name": f"w{number}",
            "resources": {"cpu": 1, "memory": f"{512 + number}MiB"},
            "prefer": "cheapest",
            "deadline": {"run_for": "1h", "finish_within": "6h"},
        }
        engine.handle(Submitted(number, Workload.model_validate(spec)), 0.0)
    engine.handle(Tick(20), 0.0)  # builds the pipeline
    began = perf_counter()
    engine.handle(Tick(DECISIONS), 0.0)
    return (perf_counter() - began) * 1000 / (DECISIONS - 20)
