"""The order `batch` against the best of the textbook orders on a family of synthetic logs: the worst case counts.

On every log the engine replays `dovetail`, `fcfs`, `sjf` and `f1`, all with easy backfilling. `dovetail` may be worse
than the best of the three by 2 % or by 0.02, whichever is more; the excess is measured in that allowance, so 1 is the
most that is allowed. `python -m benchmarks.batch_family --seed 3 --jobs 500` plays another family and prints a table,
with `--json` one object for each log.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import exp, log
from statistics import fmean

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.synthetic_logs import LogRecipe, family, jobs_of
from dovetail.simulate.comparison import play
from dovetail.simulate.policies import policy_named

JOBS = 500
SEED = 0
TEXTBOOK = ("fcfs", "sjf", "f1")
ALLOWED_SHARE = ALLOWED = 0.02

WORST = at_most("queue.family_worst_excess", 1.0, "× the allowance")
LOST = at_most("queue.family_logs_lost", 0.0, "logs")
MEAN = at_most("queue.family_mean_ratio", 1.0, "× best textbook order")


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
        """1: as much worse than the best as allowed; below 0: better than the best."""
        return (self.batch - self.best) / max(ALLOWED, ALLOWED_SHARE * self.best)

    def line(self) -> str:
        figures = "".join(f"{figure:>10.3f}" for figure in (self.batch, self.fcfs, self.sjf, self.f1, self.excess))
        return f"{self.log:<46}{figures}"


HEADER = f"{'log':<46}" + "".join(f"{name:>10}" for name in ("batch", *TEXTBOOK, "excess"))


def played(recipe: LogRecipe) -> FamilyRow:
    jobs = jobs_of(recipe)
    found = [
        play(policy_named(name), "easy", [jobs], recipe.processors).figures.mean_slowdown
        for name in ("dovetail", *TEXTBOOK)
    ]
    return FamilyRow(recipe.name, recipe.seed, *found)


def rows(jobs: int, seed: int, say: Callable[[str], None]) -> list[FamilyRow]:
    """Every log of the family; `say` hears of each as soon as it was played."""
    recipes, found = family(jobs, seed), []
    say(f"        {HEADER}")
    for number, recipe in enumerate(recipes, start=1):
        found.append(played(recipe))
        say(f"{number:>3}/{len(recipes)} {found[-1].line()}")
    return found


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
    asked = parser.parse_args()
    found = rows(asked.jobs, asked.seed, lambda line: print(line, file=sys.stderr, flush=True))
    found.sort(key=lambda row: row.excess, reverse=True)
    if asked.json:
        print(json.dumps([asdict(row) | {"best": row.best, "excess": row.excess} for row in found], indent=2))
        return
    print(HEADER, *(row.line() for row in found), sep="\n")


if __name__ == "__main__":
    main()
