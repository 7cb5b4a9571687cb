"""The order `batch` against the best of the textbook orders on a family of synthetic logs: the worst case counts.

On every log the engine replays `dovetail`, `fcfs`, `sjf` and `f1`, all with easy backfilling. `dovetail` may be worse
than the best of the three by 2 % or by 0.02, whichever is more; the excess is measured in that allowance, so 1 is the
most that is allowed. `python -m benchmarks.batch_family --seed 3 --jobs 500` plays another family and prints a table,
with `--json` one object for each log. `--moved-s 10` shows how much of this is chance: it compares `dovetail` with
itself, on the same logs with every job submitted up to ten seconds later.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import fmean

import numpy as np

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.synthetic_logs import LogRecipe, family, jobs_of
from dovetail.simulate.comparison import play
from dovetail.simulate.policies import policy_named
from dovetail.simulate.swf import BatchJob

JOBS = 500
SEED = 0
TEXTBOOK = ("fcfs", "sjf", "f1")
ALLOWED_SHARE = ALLOWED = 0.02
MOVES = 3
"""As many as there are textbook orders."""

WORST = at_most("queue.family_worst_excess", 1.0, "× the allowance")
LOST = at_most("queue.family_logs_lost", 0.0, "logs")
MEAN = at_most("queue.family_mean_ratio", 1.0, "× best textbook order")


def excess(figure: float, best: float) -> float:
    """1: as much worse than the best as allowed; below 0: better than the best."""
    return (figure - best) / max(ALLOWED, ALLOWED_SHARE * best)


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """Mean bounded slowdowns on one log."""

    log: str
    seed: int
    batch: float
    fcfs: float
    sjf: float
    f1: float

    @property
    def best(self) -> float:
        return min(self.fcfs, self.sjf, self.f1)

    @property
    def excess(self) -> float:
        return excess(self.batch, self.best)

    def line(self) -> str:
        figures = "".join(f"{figure:>10.3f}" for figure in (self.batch, self.fcfs, self.sjf, self.f1, self.excess))
        return f"{self.log:<46}{figures}"


HEADER = f"{'log':<46}" + "".join(f"{name:>10}" for name in ("batch", *TEXTBOOK, "excess"))


def played(recipe: LogRecipe) -> FamilyRow:
    jobs = jobs_of(recipe)
    found = [_slowdown(name, jobs, recipe.processors) for name in ("dovetail", *TEXTBOOK)]
    return FamilyRow(recipe.name, recipe.seed, *found)


def rows(jobs: int, seed: int, say: Callable[[str], None]) -> list[FamilyRow]:
    """Every log of the family; `say` hears of each as soon as it was played."""
    recipes, found = family(jobs, seed), []
    say(f"        {HEADER}")
    for number, recipe in enumerate(recipes, start=1):
        found.append(played(recipe))
        say(f"{number:>3}/{len(recipes)} {found[-1].line()}")
    return found


def moved(jobs: Sequence[BatchJob], most_s: float, seed: int) -> tuple[BatchJob, ...]:
    """The same jobs, each submitted up to `most_s` later."""
    later_s = np.random.default_rng(seed).uniform(0.0, most_s, len(jobs))
    found = [job._replace(submit_s=job.submit_s + float(by_s)) for job, by_s in zip(jobs, later_s, strict=True)]
    return tuple(sorted(found, key=lambda job: job.submit_s))


def against_itself(recipes: Sequence[LogRecipe], moved_s: float, say: Callable[[str], None]) -> str:
    """How often `dovetail` loses a log to the best of its own runs on the same log with moved arrivals."""
    lost, worst = 0, 0.0
    for recipe in recipes:
        log_jobs = jobs_of(recipe)
        figure = _slowdown("dovetail", log_jobs, recipe.processors)
        others = [moved(log_jobs, moved_s, MOVES * recipe.seed + number) for number in range(MOVES)]
        best = min(_slowdown("dovetail", other, recipe.processors) for other in others)
        lost += excess(figure, best) > 1.0
        worst = max(worst, figure / best)
        say(f"{recipe.name:<46}{figure:>10.3f}{best:>10.3f}{excess(figure, best):>10.3f}")
    return f"worse than the best of {MOVES} moved runs on {lost} of {len(recipes)} logs, {worst:.2f} times at worst"


def _slowdown(policy: str, jobs: Sequence[BatchJob], processors: int) -> float:
    return play(policy_named(policy), "easy", [jobs], processors).figures.mean_slowdown


@benchmark(WORST, LOST, MEAN)
def batch_is_never_a_mistake(bench: Bench) -> Iterator[tuple[str, Measured]]:
    found = rows(JOBS, SEED, bench.say)
    excesses = [row.excess for row in found]
    ratios = [row.batch / row.best for row in found]
    worst = max(found, key=lambda row: row.excess)
    how = f"{len(found)} logs of {JOBS} jobs; {worst.log}: {worst.batch:.2f} against {worst.best:.2f}"
    yield WORST.name, Measured(worst.excess, min(excesses), worst.excess, how)
    lost = float(sum(excess > 1.0 for excess in excesses))
    yield LOST.name, Measured(lost, lost, lost, f"of {len(found)}")
    yield MEAN.name, Measured(exp(fmean(map(log, ratios))), min(ratios), max(ratios), "geometric mean")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch_family", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED, help="another seed gives other logs of the same kinds")
    parser.add_argument("--jobs", type=int, default=JOBS, help="jobs in each log")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--moved-s", type=float, help="compare `dovetail` with itself, arrivals moved by so much")
    asked = parser.parse_args()

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    if asked.moved_s is not None:
        print(against_itself(family(asked.jobs, asked.seed), asked.moved_s, say))
        return
    found = rows(asked.jobs, asked.seed, say)
    found.sort(key=lambda row: row.excess, reverse=True)
    if asked.json:
        print(json.dumps([asdict(row) | {"best": row.best, "excess": row.excess} for row in found], indent=2))
        return
    print(HEADER, *(row.line() for row in found), sep="\n")


if __name__ == "__main__":
    main()
