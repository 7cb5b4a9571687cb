"""Where all tasks that have to start together would go, or why they cannot: every part is placed in a trial.

Guarantees: nothing is changed. One part, or parts that ask for the same, are tried as one gang (`gang_trial`), exactly
where that is exact. Where parts differ, the domains with capacity for each part by itself are tried, the best first, up
to a limit. In each domain the hardest part goes first; if that leaves too little for another, amounts are packed
exactly (`mixed_packing`). So the answer is exact where amounts and one domain decide alone and there are few different
parts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.placements import NO_VICTIM_INFO, VictimInfo
from dovetail.engine.gangs.gang_layout import NO_DOMAIN, GangLayout
from dovetail.engine.gangs.gang_trial import layout_of, try_subject
from dovetail.engine.gangs.one_by_one import TrialSubject
from dovetail.engine.gangs.requests import request_of
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import GroupPart
from dovetail.model.reason import Explanation
from dovetail.model.requests.asks import Layout
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import GPU
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.gangs.mixed_packing import pack
from dovetail.placement.pipeline.pipeline import Choice

_MOST_DOMAINS = 16
_MOST_TASKS = 4096  # tried in all of those together, which bounds the time that others wait
_TRIAL_WORKLOAD = -2  # never a real id


class GroupTrial(NamedTuple):
    """One part: the workload, its tasks, and the request of one task when it is tried."""

    subject: TrialSubject
    replicas: list[int]
    request: Callable[[], Request]
    victim_info: VictimInfo = NO_VICTIM_INFO


@dataclass(slots=True)
class Tried:
    """A choice for each task of each part; or why the part at `refused` does not fit."""

    choices: list[list[Choice]] = field(default_factory=list)
    refusal: Explanation | None = None
    refused: int = 0


def attempts(
    state: EngineState, parts: list[GroupPart], now: float, shapes: Sequence[Shape] | None = None
) -> list[GroupTrial]:
    """`shapes`: of each part, where they are tried with fewer preferences than they have."""
    found = []
    for (work, replicas), shape in zip(parts, shapes or [part.work.shape for part in parts], strict=True):
        victim_info = state.victim_info(work, now) if len(parts) > 1 else NO_VICTIM_INFO  # only other parts see it
        request = partial(request_of, state, work, now, shape)
        found.append(GroupTrial(TrialSubject(work.id, shape, work.identity), replicas, request, victim_info))
    return found


def try_parts(state: EngineState, parts: list[GroupTrial], *, begun: bool) -> Tried:
    """`begun`: others of the group have nodes already, and these join them there."""
    first = parts[0]
    if len(parts) == 1:
        found = try_subject(state, first.subject, first.request(), first.replicas, begun)
        return Tried([found.choices], found.refusal)
    total = sum(len(part.replicas) for part in parts)
    if _are_alike(parts):
        subject = first.subject._replace(id=_TRIAL_WORKLOAD)
        found = try_subject(state, subject, first.request(), list(range(total)), begun)
        if found.refusal is not None:
            return Tried([], found.refusal)
        in_rank_order = iter(found.choices)
        return Tried([[next(in_rank_order) for _ in part.replicas] for part in parts])
    layout = None if begun else layout_of(state, parts[0].subject)
    tried = _by_domain(state, parts, layout) if layout is not None else in_turn(state, parts, None, begun)
    if tried.refusal is not None and layout is None:
        tried = _exactly(state, parts, [_layout(state, part, Layout()).copies for part in parts], None) or tried
    if tried.refusal is not None:
        name = parts[tried.refused].subject.identity.workload
        words = f"{total} tasks must start together, and {name} has no place: {tried.refusal.message}"
        tried.refusal = replace(tried.refusal, message=words)
    return tried


def in_turn(state: EngineState, parts: list[GroupTrial], among: B1 | None, begun: bool) -> Tried:
    """One part after the other, the hardest first, on these nodes only."""
    cluster = state.cluster
    found: list[list[Choice]] = [[] for _ in parts]
    with cluster.trial():
        for index in hardest_first(state, parts):
            part = parts[index]
            request = only_among(part.request(), among)
            together = try_subject(state, part.subject, request, part.replicas, begun)
            if together.refusal is not None:
                return Tried([], together.refusal, index)
            found[index] = place_choices(state, part, request, together.choices)
    return Tried(found)


def place_choices(state: EngineState, part: GroupTrial, request: Request, choices: list[Choice]) -> list[Choice]:
    """Place the choices, inside a trial of the caller. Returns them with the GPUs they got."""
    found = []
    shape = part.subject.shape
    for replica, choice in zip(part.replicas, choices, strict=True):
        assert choice.row is not None
        task, known_by = TaskId(part.subject.id, replica), (shape.service_key, part.victim_info, part.subject.identity)
        slots = state.cluster.place(task, choice.row, request.column, *known_by, request.shape.gpus, choice.slots)
        found.append(replace(choice, slots=slots or None))
    return found


def hardest_first(state: EngineState, parts: list[GroupTrial]) -> list[int]:
    """The order of the parts: by GPUs of one task, then by the largest share of the cluster that one task takes."""
    tables, n = state.cluster.resources, state.cluster.width
    totals = dict(zip(tables.names, tables.schedulable[:, :n].sum(axis=1).tolist(), strict=True))

    def hardness(index: int) -> tuple[float, float]:
        amounts = dict(parts[index].subject.shape.amounts)
        shares = [amount / totals[name] for name, amount in amounts.items() if totals.get(name)]
        return amounts.get(GPU, 0.0), max(shares, default=0.0)

    return sorted(range(len(parts)), key=hardness, reverse=True)


def only_among(request: Request, among: B1 | None) -> Request:
    if among is None:
        return request
    return replace(request, among=among if request.among is None else request.among & among)


def _by_domain(state: EngineState, parts: list[GroupTrial], layout: Layout) -> Tried:
    """From the narrowest level it may use to the widest, the domains with capacity for each part."""
    tiers = state.tiers.of(layout.levels)
    first = hardest_first(state, parts)[0]
    layouts = [_layout(state, part, layout) for part in parts]
    widest, narrowest = layouts[first].span
    total = sum(len(part.replicas) for part in parts)
    left = min(_MOST_DOMAINS, max(1, _MOST_TASKS // total))
    last: Tried | None = None
    for index in range(narrowest, widest - 1, -1):
        tier = tiers[index]
        enough = [tier.sums(one.copies) >= len(part.replicas) for one, part in zip(layouts, parts, strict=True)]
        points = np.where(np.logical_and.reduce(enough), layouts[first].points(index), -np.inf)
        for domain in np.argsort(-points, kind="stable")[:left].tolist():
            if points[domain] == -np.inf:
                break
            left -= 1
            among = tier.codes == domain
            last = in_turn(state, parts, among, begun=False)
            if last.refusal is not None and not layout.slices:
                last = _exactly(state, parts, [one.copies for one in layouts], among) or last
            if last.refusal is None:
                return last
    if last is not None:
        return last
    return _without_domain(state, parts, layouts)


def _layout(state: EngineState, part: GroupTrial, layout: Layout) -> GangLayout:
    return GangLayout(state, part.subject, part.request(), part.replicas, layout)


def _exactly(state: EngineState, parts: list[GroupTrial], copies: list[F8], among: B1 | None) -> Tried | None:
    """Packed by amounts, and then tried task by task, since other filters may refuse it."""
    cluster = state.cluster
    free = cluster.resources.free[:, : cluster.width]
    columns = [cluster.resources.vector(dict(part.subject.shape.amounts)) for part in parts]
    columns = [np.pad(column, (0, len(free) - len(column))) for column in columns]
    allowed = [(each > 0) if among is None else (each > 0) & among for each in copies]
    try:
        packed = pack(np.maximum(free, 0.0), columns, allowed, [len(part.replicas) for part in parts])
    except ValueError:
        return None
    if packed is None:
        return None
    found: list[list[Choice]] = [[] for _ in parts]
    with cluster.trial():
        for index in hardest_first(state, parts):
            part = parts[index]
            for replica, row in zip(part.replicas, packed[index], strict=True):
                one = part._replace(replicas=[replica])
                request = only_among(part.request(), np.arange(cluster.width) == row)
                together = try_subject(state, part.subject, request, [replica], begun=True)
                if together.refusal is not None:
                    return None
                found[index] += place_choices(state, one, request, together.choices)
    return Tried(found)


def _without_domain(state: EngineState, parts: list[GroupTrial], layouts: list[GangLayout]) -> Tried:
    """No domain has capacity for each part: a part that fits nowhere even by itself explains it best."""
    for index in hardest_first(state, parts):
        alone = layouts[index].arranged()
        if alone.refusal is not None:
            return Tried([], alone.refusal, index)
    words = "no domain has space for all of them, though each would find one by itself"
    index = hardest_first(state, parts)[0]
    nodes = len(state.cluster.rows)
    return Tried([], Explanation(NO_DOMAIN, words, parts[index].subject.shape.profile, nodes, ()), index)


def _are_alike(parts: list[GroupTrial]) -> bool:
    """They have one shape, and no other work tells them apart."""
    first = parts[0].subject
    return all(
        part.subject.shape == first.shape
        and part.subject.identity.labels == first.identity.labels
        and part.subject.identity.talks == first.identity.talks
        for part in parts[1:]
    )
