"""The series that are kept: their names, what people call them and their units, and how a sample becomes values.

A resource has three: its allocated share under its own name, `NAME_allocated` and `NAME_capacity`. A queue that waits
and the use of a domain are members of a group, kept as `GROUP/NAME`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from dovetail.control.trends.book import LoopCounts
from dovetail.control.trends.down_sampling import Steps, largest
from dovetail.engine.questions.trend_questions import MOST_DOMAINS, MOST_QUEUES, OTHERS, TrendSample
from dovetail.model.resources import CPU, DISK, GPU, MEMORY
from dovetail.responses.trends import TrendAnswer, TrendSeries

WAITING, USE = "waiting_by_queue", "use_by_domain"
GROUPS = (WAITING, USE)
_ALLOCATED, _CAPACITY = "_allocated", "_capacity"
_MOST_IN_GROUP = {WAITING: MOST_QUEUES, USE: MOST_DOMAINS}


class _Described(NamedTuple):
    title: str
    unit: str


_DESCRIBED = {
    "fragmentation": _Described("Free GPUs that typical work cannot use", "share"),
    "waiting": _Described("Waiting workloads", "workloads"),
    "wait_p90": _Described("Nine of ten have waited less than", "s"),
    "decisions": _Described("Decisions a second", "1/s"),
    "decision_p99": _Described("99 of 100 decisions took less than", "ms"),
    "failures": _Described("Failures a minute", "1/min"),
}
_RESOURCES = {CPU: ("CPU", "cores"), MEMORY: ("Memory", "bytes"), DISK: ("Disk", "bytes"), GPU: ("GPU", "GPUs")}


def described(name: str) -> _Described:
    if name in _DESCRIBED:
        return _DESCRIBED[name]
    for ending, word in ((_ALLOCATED, "allocated"), (_CAPACITY, "capacity")):
        if name.endswith(ending):
            resource = name.removesuffix(ending)
            title, unit = _RESOURCES.get(resource, (resource, "pieces"))
            return _Described(f"{title} {word}", unit)
    return _Described(f"{_RESOURCES.get(name, (name, ''))[0]} in use", "share")


def values_of(sample: TrendSample, before: LoopCounts, after: LoopCounts, elapsed_s: float) -> dict[str, float]:
    """By series, what is recorded. Where there is nothing to say, the series is left out."""
    found: dict[str, float] = {"waiting": sample.waiting}
    for resource, (allocated, capacity) in sample.totals.items():
        scale = 1000 if resource in (CPU, GPU) else 1
        found[resource] = allocated / capacity if capacity else 0.0
        found[resource + _ALLOCATED] = allocated / scale
        found[resource + _CAPACITY] = capacity / scale
    if sample.fragmented is not None:
        found["fragmentation"] = sample.fragmented
    if sample.wait_p90_s is not None:
        found["wait_p90"] = max(0.0, sample.wait_p90_s)
    if elapsed_s > 0:
        found["decisions"] = (after.decisions - before.decisions) / elapsed_s
        found["failures"] = (after.failures - before.failures) / elapsed_s * 60
    if after.p99_s is not None:
        found["decision_p99"] = after.p99_s * 1000
    found |= {f"{WAITING}/{name}": float(number) for name, number in sample.waiting_by_queue.items()}
    return found | {f"{USE}/{name}": share for name, share in sample.use.items()}


def answer_of(steps: Steps, asked: Iterable[str]) -> TrendAnswer:
    """`asked`: names of series and groups; none: all."""
    wanted = set(asked)
    alone = [name for name in steps.series if not name.startswith(tuple(f"{group}/" for group in GROUPS))]
    names = sorted(wanted - set(GROUPS) if wanted else {*alone, *_DESCRIBED}, key=_place)
    series: dict[str, TrendSeries] = {
        name: {**described(name)._asdict(), "values": _rounded(steps.values(name))}  # type: ignore[typeddict-item]
        for name in names
    }
    groups = {group: _group(steps, group) for group in GROUPS if not wanted or group in wanted}
    window = steps.window
    return {
        "from": float(window.start),
        "step_s": float(window.step_s),
        "times": window.times,
        "series": series,
        "groups": groups,
    }


def _place(name: str) -> tuple[int, str]:
    """Shares of resources first, then what happens, and amounts last."""
    if name in _DESCRIBED:
        return len(_RESOURCES) + 1 + list(_DESCRIBED).index(name), name
    if name.endswith((_ALLOCATED, _CAPACITY)):
        return 100, name
    return list(_RESOURCES).index(name) if name in _RESOURCES else len(_RESOURCES), name


def _group(steps: Steps, group: str) -> dict[str, list[float | None]]:
    prefix = f"{group}/"
    members = {name.removeprefix(prefix): steps.values(name) for name in steps.series if name.startswith(prefix)}
    if group == WAITING:  # a queue in which nothing waited then was not recorded: that is 0, where anything was
        there = [one is not None for one in steps.values("waiting")]
        members = {name: _filled(values, there) for name, values in members.items()}
        members = largest(members, _MOST_IN_GROUP[group], OTHERS)
    else:
        members = dict(sorted(members.items())[: _MOST_IN_GROUP[group]])
    return {name: _rounded(values) for name, values in members.items()}


def _filled(values: list[float | None], there: list[bool]) -> list[float | None]:
    return [0.0 if one is None and known else one for one, known in zip(values, there, strict=True)]


def _rounded(values: list[float | None]) -> list[float | None]:
    return [None if one is None else round(one, 4) for one in values]
