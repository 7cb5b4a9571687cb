"""The harness: benchmarks register themselves with the bars they are held to, and are run one after the other.

A benchmark is a generator registered with `@benchmark(Bar(…), …)` that yields `(name, Measured)` for each of its bars.
Guarantees: every selected bar gives exactly one `Figure`, whatever happens. One that cannot be measured here raises
`NotRun` and is reported as not run with its reason, never as met; one that fails in any other way is reported as
failed, and the others run. Names are subject first (`engine.…`, `control.…`) and unique.
Leaves to others: which modules there are (`catalogue`), how to repeat and summarise (`measuring`), showing (`report`).
"""

import math
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import psutil

SEEDS = 10


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure's name and what it should reach; `bar` None: measured for the record only."""

    name: str
    unit: str
    better: Better
    bar: float | None

    def met_by(self, value: float) -> bool | None:
        """Reaching the bar exactly is meeting it."""
        if self.bar is None:
            return None
        return value >= self.bar if self.better is Better.HIGHER else value <= self.bar


def at_least(name: str, bar: float, unit: str) -> Bar:
    return Bar(name, unit, Better.HIGHER, bar)


def at_most(name: str, bar: float, unit: str) -> Bar:
    return Bar(name, unit, Better.LOWER, bar)


@dataclass(frozen=True, slots=True)
class Measured:
    """A value, the lowest and highest of the rounds behind it, and how it was made from them."""

    value: float
    low: float
    high: float
    how: str


@dataclass(frozen=True, slots=True)
class Figure:
    """What became of one bar: measured, or not run, or failed; the reason says why. `stolen`: the share of processor
    time that the host of this machine gave to others meanwhile; with much of it timings say little."""

    bar: Bar
    measured: Measured | None = None
    stolen: float = 0.0
    not_run: str = ""
    error: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.measured is None else self.bar.met_by(self.measured.value)

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": self.bar.name,
            "value": None if self.measured is None else self.measured.value,
            "unit": self.bar.unit,
            "better": str(self.bar.better),
            "bar": self.bar.bar,
            "met": self.met,
        }
        if self.measured is not None:
            found |= {"spread": [self.measured.low, self.measured.high], "how": self.measured.how}
            found["stolen"] = round(self.stolen, 3)
        if self.not_run:
            found["not_run"] = self.not_run
        if self.error:
            found["error"] = self.error
        return found


class NotRun(Exception):
    """This benchmark cannot be measured here; the message says what is missing and how to provide it."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a benchmark may use of its surroundings."""

    scratch: Path
    data: Path | None = None
    seeds: int = SEEDS  # of benchmarks that repeat by chance

    def say(self, text: str) -> None:
        """Progress, for whoever waits; stdout is kept for the result."""
        print(f"  {text}", file=sys.stderr, flush=True)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """An empty folder on disk (the system's own place for such things may be memory), gone afterwards."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="bench-", dir=self.scratch) as name:
            yield Path(name).resolve()

    def data_folder(self, name: str) -> Path:
        """A folder of recorded data that not every machine has. Raises NotRun where it is missing."""
        if self.data is None:
            raise NotRun(f"needs recorded data; pass --data DIR with a folder {name!r} in it")
        found = self.data / name
        if not found.is_dir():
            raise NotRun(f"{found} is missing; --data must name a folder that holds {name!r}")
        return found


Measure = Callable[[Bench], Iterable[tuple[str, Measured]]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    bars: tuple[Bar, ...]
    measure: Measure

    def run(self, bench: Bench, wanted: Callable[[str], bool]) -> list[Figure]:
        """One figure for each wanted bar, in the order of the bars."""
        found: dict[str, Measured] = {}
        not_run = error = ""
        before = psutil.cpu_times()
        try:
            for name, measured in self.measure(bench):
                self._check(name, measured, found)
                found[name] = measured
        except NotRun as reason:
            not_run = str(reason)
        except Exception as failure:  # one benchmark's failure must not keep the others from running
            traceback.print_exc(file=sys.stderr)
            error = f"{type(failure).__name__}: {failure}"
        else:
            error = "the benchmark ended without this figure"
        stolen = _stolen(before)
        return [
            Figure(bar, found[bar.name], stolen) if bar.name in found else Figure(bar, not_run=not_run, error=error)
            for bar in self.bars
            if wanted(bar.name)
        ]

    def _check(self, name: str, measured: Measured, found: dict[str, Measured]) -> None:
        if name in found or all(bar.name != name for bar in self.bars):
            raise ValueError(f"yielded {name!r}, which is no bar of it or came before")
        if not math.isfinite(measured.value):
            raise ValueError(f"{name} came out as {measured.value}")


def _stolen(before: Any) -> float:
    """The share of processor time since then that went to other machines of the host, where that is known."""
    now = psutil.cpu_times()
    passed_s = sum(now) - sum(before)
    return (getattr(now, "steal", 0.0) - getattr(before, "steal", 0.0)) / passed_s if passed_s > 0 else 0.0


@dataclass(slots=True)
class Registry:
    benchmarks: list[Benchmark] = field(default_factory=list)

    def benchmark(self, *bars: Bar) -> Callable[[Measure], Measure]:
        """Register the decorated generator under its bars."""

        def register(measure: Measure) -> Measure:
            for name in (bar.name for bar in bars):
                if name in self.names or sum(bar.name == name for bar in bars) > 1:
                    raise ValueError(f"two benchmarks are called {name!r}")
                if "." not in name:
                    raise ValueError(f"{name!r} must begin with its subject, such as engine.{name}")
            self.benchmarks.append(Benchmark(bars, measure))
            return measure

        return register

    @property
    def names(self) -> list[str]:
        return [bar.name for one in self.benchmarks for bar in one.bars]

    def run(self, bench: Bench, only: str | None = None) -> Iterator[list[Figure]]:
        """The figures whose names match, one list a benchmark, as they come."""
        for one in self.benchmarks:
            selected = [bar.name for bar in one.bars if matches(bar.name, only)]
            if selected:
                print(", ".join(selected), file=sys.stderr, flush=True)
                yield one.run(bench, selected.__contains__)


def matches(name: str, only: str | None) -> bool:
    """`engine`, `*.memory`, `control.http.*`: a glob over the whole name, or a part of it."""
    return not only or only in name or fnmatchcase(name, only)


REGISTRY = Registry()
benchmark = REGISTRY.benchmark
