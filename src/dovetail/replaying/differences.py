"""Where another profile would have placed tasks elsewhere, why, and what that would have changed.

A decision is compared with the recorded one about the same attempt of the same task. Playing the day with its own
profile in the same way shows how far the model itself is from the recording: what differs there too is not the
profile's doing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.model.reason import Explanation
from dovetail.model.record import Decision
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Workload
from dovetail.replaying.alternative import Alternative
from dovetail.replaying.reproduction import Reproduction

Attempt = tuple[int, int, int]  # workload, replica, attempt


@dataclass(frozen=True, slots=True)
class PlacedElsewhere:
    """`node_then` None: it was not placed in the recording, `node_now` None: not by the other profile."""

    at: float
    workload: str
    replica: int
    attempt: int
    node_then: str | None
    node_now: str | None
    later_s: float | None  # how much later it would have been placed; below 0: earlier
    why: str


@dataclass(frozen=True, slots=True)
class DayDifferences:
    """`by_model`: placements that differ also with the day's own profile; they are not listed."""

    placements: int
    same: int
    by_model: int
    elsewhere: list[PlacedElsewhere]


def compare_days(recorded: Reproduction, baseline: Alternative, other: Alternative) -> DayDifferences:
    then = {(d.workload, d.replica, d.attempt): (at, d.node) for at, d in recorded.placements}
    model, now = _placed(baseline.decisions), _placed(other.decisions)
    same = by_model = 0
    elsewhere: list[PlacedElsewhere] = []
    for key in sorted(then.keys() | now.keys(), key=lambda key: (then.get(key) or (now[key].at, ""))[0]):
        was, is_now = then.get(key), now.get(key)
        node_then = None if was is None else was[1]
        node_now = None if is_now is None else is_now.node
        node_model = model[key].node if key in model else None
        if node_then == node_now:
            same += 1
        elif node_model == node_now:
            by_model += 1
        else:
            elsewhere.append(_elsewhere(key, was, is_now, recorded.specs))
    return DayDifferences(len(then), same, by_model, elsewhere)


def _placed(decisions: Sequence[Decision]) -> dict[Attempt, Decision]:
    return {(*one.task, one.attempt): one for one in decisions if one.node is not None}


def _elsewhere(
    key: Attempt, was: tuple[float, str | None] | None, now: Decision | None, specs: dict[int, Workload]
) -> PlacedElsewhere:
    workload, replica, attempt = key
    if was is None:
        assert now is not None
        return PlacedElsewhere(now.at, _name(workload, specs), replica, attempt, None, now.node, None, _new(attempt))
    at, node = was
    if now is None:
        return PlacedElsewhere(at, _name(workload, specs), replica, attempt, node, None, None, _gone(attempt))
    assert node is not None
    why = _scores(now.explanation, now.node or "", node)
    return PlacedElsewhere(at, _name(workload, specs), replica, attempt, node, now.node, now.at - at, why)


def _new(attempt: int) -> str:
    if attempt > 1:
        return "its attempt before was stopped or lost, which did not happen in the recording"
    return "it waited until the end of the recording"


def _gone(attempt: int) -> str:
    return "its attempt before was not stopped or lost" if attempt > 1 else "it waits until the end of the recording"


def _scores(explanation: Explanation, here: str, there: str) -> str:
    """`affinity 1.2 here, 0.4 on n-3`: the score that made the difference, if the other node was among the best."""
    points = {one.node: one for one in explanation.best}
    if here not in points:
        return explanation.message
    if there not in points:
        return f"{there} was not among its best nodes then: {explanation.message}"
    weighted = [
        (weight * (points[here].points[index] - points[there].points[index]), name, index)
        for index, (name, weight) in enumerate(explanation.weights)
    ]
    gain, name, index = max(weighted, default=(0.0, "", 0))
    if gain <= 0:
        return f"equally good for {explanation.profile}; its rule for equal nodes decides"
    mine, theirs = points[here].points[index], points[there].points[index]
    return f"{name}: {mine:.3g} here, {theirs:.3g} on {there}"


def _name(workload: int, specs: dict[int, Workload]) -> str:
    spec = specs.get(workload)
    if spec is None:
        return str(workload)
    return spec.name if spec.namespace == DEFAULT_NAMESPACE else f"{spec.namespace}/{spec.name}"
