"""Batch logs replayed by the engine: bounded slowdown against published figures and our own bars, and its speed.

The published policies must come out as published, to two decimals: their bars are the figures themselves, rounded up
in the third, and the spread says what the sequences gave. Our own policy must do better without letting anybody starve.
Needs the logs (`--data DIR` with `swf/` in it).
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import perf_counter

from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import once
from dovetail.simulate.comparison import BatchRun, play
from dovetail.simulate.policies import Backfill, UnknownPolicy, policy_named
from dovetail.simulate.swf import BatchJob, BatchLog, read_swf, sequences

LUBLIN, KTH = "lublin_256.swf.gz", "KTH-SP2-1996-2.1-cln.swf.gz"
UNIT = "mean bounded slowdown"

#: Policy, backfilling, and what was published for ten sequences of 1,024 jobs of lublin_256 (RLScheduler, SC'20).
PUBLISHED: tuple[tuple[str, Backfill, float], ...] = (
    ("fcfs", "none", 7273.77),
    ("fcfs", "easy", 235.82),
    ("sjf", "none", 277.35),
    ("sjf", "easy", 73.31),
    ("f1", "none", 258.37),
    ("f1", "easy", 75.07),
)


def _name(policy: str, backfill: Backfill) -> str:
    return f"queue.lublin_{policy}{'_bf' if backfill == 'easy' else ''}_bsld"


REPRODUCED = {
    _name(policy, how): at_most(_name(policy, how), figure + 0.005, UNIT) for policy, how, figure in PUBLISHED
}
OURS_LUBLIN = at_most("queue.lublin_dovetail_bsld", 31.0, UNIT)
OURS_LUBLIN_LONGEST = at_most("queue.lublin_dovetail_longest_wait", 2.0, "× FCFS+BF")
OURS_KTH = at_most("queue.kth_dovetail_bsld", 45.0, UNIT)
OURS_KTH_LONGEST = at_most("queue.kth_dovetail_longest_wait", 2.0, "× FCFS+BF")
KTH_FCFS = at_most("queue.kth_fcfs_bf_bsld", 98.665, UNIT)
KTH_SJF = at_most("queue.kth_sjf_bf_bsld", 73.085, UNIT)
KTH_TIME = at_most("queue.kth_fcfs_bf_s", 120.0, "s")
KTH_RANGE = at_least("queue.kth_predicted_in_range", 0.80, "share")
KTH_ERROR = Bar("queue.kth_predicted_error_s", "s", Better.LOWER, None)


def _log(bench: Bench, name: str) -> BatchLog:
    path: Path = bench.data_folder("swf") / name
    if not path.is_file():
        raise NotRun(f"{path} is missing")
    return read_swf(path.read_bytes(), name)


@cache
def _sequences(log: BatchLog) -> list[tuple[BatchJob, ...]]:
    return [tuple(jobs) for jobs in sequences(log, 10, 1024, 1)]


def _played(
    bench: Bench, log: BatchLog, policy: str, backfill: Backfill, whole: bool, predict: bool = False
) -> BatchRun:
    try:
        found = policy_named(policy)
    except UnknownPolicy as error:
        raise NotRun(str(error)) from None
    run = play(found, backfill, [log.jobs] if whole else _sequences(log), log.processors, predict=predict)
    bench.say(f"{policy} {backfill}: {run.figures.mean_slowdown:.4f}, longest wait {run.figures.longest_wait_s:.0f} s")
    return run


def _slowdown(run: BatchRun) -> Measured:
    each = [one.mean_slowdown for one in run.figures.sequences]
    return Measured(run.figures.mean_slowdown, min(each), max(each), f"mean of {len(each)}")


def _longest(run: BatchRun, fcfs: BatchRun) -> Measured:
    return once(run.figures.longest_against(fcfs.figures) or 0.0, "of all jobs")


@benchmark(*REPRODUCED.values())
def published(bench: Bench) -> Iterator[tuple[str, Measured]]:
    """A figure that is too low is as wrong as one that is too high."""
    log = _log(bench, LUBLIN)
    for policy, how, figure in PUBLISHED:
        run = _played(bench, log, policy, how, whole=False)
        if run.figures.mean_slowdown < figure - 0.005:
            raise ValueError(
                f"{policy} {how}: {run.figures.mean_slowdown} is better than published; not the same protocol"
            )
        yield _name(policy, how), _slowdown(run)


@benchmark(OURS_LUBLIN, OURS_LUBLIN_LONGEST)
def ours_on_lublin(bench: Bench) -> Iterator[tuple[str, Measured]]:
    log = _log(bench, LUBLIN)
    run, fcfs = (_played(bench, log, policy, "easy", whole=False) for policy in ("dovetail", "fcfs"))
    yield OURS_LUBLIN.name, _slowdown(run)
    yield OURS_LUBLIN_LONGEST.name, _longest(run, fcfs)


@benchmark(KTH_FCFS, KTH_TIME, KTH_SJF)
def textbook_on_kth(bench: Bench) -> Iterator[tuple[str, Measured]]:
    log = _log(bench, KTH)
    start = perf_counter()
    run = _played(bench, log, "fcfs", "easy", whole=True)
    yield KTH_TIME.name, once(perf_counter() - start, f"{len(log.jobs)} jobs, once")
    yield KTH_FCFS.name, _slowdown(run)
    yield KTH_SJF.name, _slowdown(_played(bench, log, "sjf", "easy", whole=True))


@benchmark(OURS_KTH, OURS_KTH_LONGEST, KTH_RANGE, KTH_ERROR)
def ours_on_kth(bench: Bench) -> Iterator[tuple[str, Measured]]:
    log = _log(bench, KTH)
    run = _played(bench, log, "dovetail", "easy", whole=True, predict=True)
    fcfs = _played(bench, log, "fcfs", "easy", whole=True)
    yield OURS_KTH.name, _slowdown(run)
    yield OURS_KTH_LONGEST.name, _longest(run, fcfs)
    predictions = run.predictions
    assert predictions is not None
    how = f"{predictions.told} jobs told of {predictions.waited} that waited"
    yield KTH_RANGE.name, once(predictions.in_range or 0.0, how)
    yield KTH_ERROR.name, once(predictions.median_error_s or 0.0, f"median, {how}")
