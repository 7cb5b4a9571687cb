"""When nothing fits: the dominant reason, what is short and by how much, and whether eviction could help.

Built from the filters' own answers, never from a second copy of their rules.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Explanation, FunnelStep, Outcome, Refused, Shortage
from dovetail.model.resources import show_amount
from dovetail.placement.contract import Filter, Request
from dovetail.placement.filters.ready import ReadyFilter
from dovetail.placement.filters.resources import ResourcesFilter
from dovetail.placement.pipeline.evaluation import Evaluator, FilterResult

PLUGIN_FAILED = "plugin_failed"


def unplaced(
    profile: str,
    request: Request,
    evaluator: Evaluator,
    cluster: Cluster,
    funnel: tuple[FunnelStep, ...],
    filtered: FilterResult,
) -> Explanation:
    """The explanation for a task that stays pending, from what the filters said when it was decided: a plugin that
    fails now and then would not say the same again."""
    view = View(cluster)
    stopped = next(i for i, step in enumerate(funnel) if not step.remaining)
    before = filtered.stages[stopped - 1] if stopped else view.present
    step = funnel[stopped]
    shortages: tuple[Shortage, ...] = ()
    eviction = Eviction.NEVER
    failure = next((note for note in filtered.notes if note.startswith(f"plugin {step.filter!r} failed")), None)
    outcome: str
    if failure is not None:
        outcome, message = PLUGIN_FAILED, failure
    elif step.filter == ReadyFilter.name:
        outcome, message = _nobody_ready(cluster)
    elif step.filter == ResourcesFilter.name:
        shortages, eviction = _shortages(request, evaluator, view, before)
        outcome, message = Outcome.INSUFFICIENT_RESOURCES, _short_words(int(before.sum()), shortages)
    else:
        position = int(np.flatnonzero(before)[0])
        refused = _word(evaluator.filters[stopped], request, view, position)
        outcome, eviction = refused.reason, refused.eviction
        example = f"{view.name(position)}: {refused.message}"
        message = f"{step.filter} refuses all of {_nodes(int(before.sum()))}, such as {example}"
    return Explanation(
        outcome=outcome,
        message=message,
        profile=profile,
        nodes=len(cluster.rows),
        funnel=funnel,
        shortages=shortages,
        eviction=eviction,
        notes=filtered.notes,
    )


def refusals(request: Request, evaluator: Evaluator, cluster: Cluster, row: int) -> list[Refused]:
    """Every filter's word against one node, in funnel order; empty if the node may take the task."""
    view = View(cluster).subset(np.array([row], dtype=np.intp))
    found = []
    for plugin in evaluator.filters:
        passed, failure = evaluator.allows(plugin, request, view)
        if not passed:
            found.append(Refused(plugin.name, PLUGIN_FAILED, failure) if failure else _word(plugin, request, view, 0))
    return found


def _word(plugin: Filter, request: Request, view: View, position: int) -> Refused:
    try:
        return plugin.refuse(request, view, position)
    except Exception as error:  # the filter decided; that it cannot say why must not hide the decision
        message = f"refused; plugin {plugin.name!r} failed to say why: {type(error).__name__}: {error}"
        return Refused(plugin.name, plugin.reason, message)


def _nobody_ready(cluster: Cluster) -> tuple[str, str]:
    n = cluster.width
    if not len(cluster.rows):
        return Outcome.NO_AVAILABLE_NODES, "there are no nodes yet: register one or configure a backend"
    online, cordoned = cluster.online[:n], cluster.cordoned[:n]
    usable = online & ~cordoned
    quarantined = [name for name in cluster.quarantines if usable[cluster.rows[name]]]
    if quarantined:
        usable[[cluster.rows[name] for name in quarantined]] = False
    if usable.any():
        down = [cluster.backend_names[code] for code in np.unique(cluster.backends[:n][usable])]
        return (
            Outcome.BACKEND_UNAVAILABLE,
            f"{_nodes(int(usable.sum()))} could take it, but {_list('backend', down)} does not answer",
        )
    total = len(cluster.rows)
    silent = total - int(online.sum())
    kept = f"{silent} offline and {int((online & cordoned).sum())} cordoned"
    if quarantined:
        kept = f"{silent} offline, {int((online & cordoned).sum())} cordoned and {len(quarantined)} in quarantine"
    return Outcome.NO_AVAILABLE_NODES, f"of {_nodes(total)}, {kept}: none is left"


def _shortages(
    request: Request, evaluator: Evaluator, view: View, candidates: B1
) -> tuple[tuple[Shortage, ...], Eviction]:
    """The nearest miss: of the nodes that pass every other filter, the one that lacks least."""
    resources = evaluator.filters[-1]
    assert isinstance(resources, ResourcesFilter), "profiles end with the resources filter"
    rows = np.flatnonzero(candidates)
    lacking = np.zeros(len(rows))
    fits_when_empty = np.ones(len(rows), dtype=np.bool_)
    frees: dict[str, F8] = {}
    for resource, needed in request.needs.items():
        free, most, reserved = resources.free(view, resource), view.schedulable(resource), view.reserved(resource)
        if free is None or most is None or reserved is None:  # no node has ever had such a resource
            frees[resource] = np.zeros(len(rows))
            fits_when_empty[:] = False
            lacking += 1.0
            continue
        frees[resource] = free[rows]
        lacking += np.maximum(needed - frees[resource], 0.0) / needed
        fits_when_empty &= (most[rows] - reserved[rows]) >= needed
    nearest = int(lacking.argmin())
    name = view.name(int(rows[nearest]))
    found = tuple(
        Shortage(resource, needed, float(frees[resource][nearest]), name)
        for resource, needed in request.needs.items()
        if frees[resource][nearest] < needed
    )
    return found, Eviction.HELPS if fits_when_empty.any() else Eviction.NEVER


def _short_words(candidates: int, shortages: tuple[Shortage, ...]) -> str:
    words = [
        f"{s.resource} short by {show_amount(s.resource, s.short_by)} "
        f"(needs {show_amount(s.resource, s.needed)}, {show_amount(s.resource, s.best_free)} free)"
        for s in shortages
    ]
    return f"none of {_nodes(candidates)} has room; nearest is {shortages[0].best_node}: {', '.join(words)}"


def _nodes(count: int) -> str:
    return f"{count} node" if count == 1 else f"{count} nodes"


def _list(word: str, names: list[str]) -> str:
    return f"{word} {', '.join(map(repr, names))}"
