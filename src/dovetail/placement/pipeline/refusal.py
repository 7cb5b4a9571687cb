"""When nothing fits: the dominant reason, what is short and by how much, and whether eviction could help.

Built from the filters' own answers, never from a second copy of their rules.
"""

from collections.abc import Iterator

import numpy as np

from dovetail.cluster.arrays import B1, Rows
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Explanation, FunnelStep, Outcome, Refused
from dovetail.placement.contract import Filter, GroupRefusal, RefusalSummary, Request, count_nodes
from dovetail.placement.filters.status import ReadyFilter
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
    """The explanation for a task that stays pending, from the filters' answers at the decision: a plugin that fails
    now and then might answer differently if asked again."""
    view = View(cluster)
    stopped = filtered.counts.index(0)
    before = filtered.stages[stopped - 1] if stopped else view.present
    plugin = evaluator.filters[stopped]
    failure = next((note for note in filtered.notes if note.startswith(f"plugin {plugin.name!r} failed")), None)
    summary = RefusalSummary(PLUGIN_FAILED, failure) if failure else _summary(plugin, request, view, before)
    if not failure and summary.eviction is Eviction.NEVER and not isinstance(plugin, ReadyFilter):
        summary = _closed_nodes(request, evaluator, view, filtered, summary)
    return Explanation(
        outcome=summary.outcome,
        message=summary.message,
        profile=profile,
        nodes=len(cluster.rows),
        funnel=funnel,
        shortages=summary.shortages,
        eviction=summary.eviction,
        notes=filtered.notes,
    )


def refusals(request: Request, evaluator: Evaluator, cluster: Cluster, row: int) -> list[Refused]:
    """Every filter's word against one node, in funnel order; empty if the node may take the task."""
    view = View(cluster).subset(np.array([row], dtype=np.intp))
    found = []
    for plugin in evaluator.filters:
        passed, failure = evaluator.allows(plugin, request, view)
        if not passed:
            found.append(Refused(plugin.name, PLUGIN_FAILED, failure) if failure else _word(plugin, request, view))
    return found


def refused_at(
    request: Request, evaluator: Evaluator, view: View, name: str, limit: int, offset: int = 0
) -> tuple[list[tuple[str, Refused]], int]:
    """The nodes that passed every filter before this one and not this one, each with its word, and how many there are
    in all. Nothing where no filter has that name."""
    filtered = evaluator.run_filters(request, view)
    before = view.present if request.among is None else view.present & request.among[view.rows]
    for plugin, stage in zip(evaluator.filters, filtered.stages, strict=True):
        if plugin.name == name:
            rows = np.flatnonzero(before & ~stage)
            some = view.subset(rows[offset : offset + limit])
            return [(some.name(place), _word(plugin, request, some, place)) for place in range(some.size)], len(rows)
        before = stage
    return [], 0


def _word(plugin: Filter, request: Request, view: View, position: int = 0) -> Refused:
    try:
        return plugin.refuse(request, view, position)
    except Exception as error:  # the decision stands even if the filter cannot explain it
        return Refused(plugin.name, plugin.reason, _without_words(plugin, error))


def _summary(plugin: Filter, request: Request, view: View, candidates: B1) -> RefusalSummary:
    try:
        return plugin.summarise(request, view, candidates)
    except Exception as error:  # as above
        nodes = count_nodes(int(candidates.sum()))
        return RefusalSummary(plugin.reason, f"{plugin.name} refuses all of {nodes}: {_without_words(plugin, error)}")


def _closed_nodes(
    request: Request, evaluator: Evaluator, view: View, filtered: FilterResult, summary: RefusalSummary
) -> RefusalSummary:
    """The true cause where the only nodes that could take the task are offline, cordoned or in quarantine: whatever
    the others lack matters less. The summary as it is if there are no such nodes. Nodes that take work and are too
    small stay `insufficient_resources`, in other words."""
    number = next((i for i, plugin in enumerate(evaluator.filters) if isinstance(plugin, ReadyFilter)), None)
    if number is None:
        return summary
    ready = evaluator.filters[number]
    closed = view.present & ~view.ready
    rows = np.flatnonzero(closed if request.among is None else closed & request.among[view.rows])
    if filtered.masks is not None:
        rows = rows[np.delete(filtered.masks[:, rows], number, axis=0).all(axis=0)]
    else:
        rows = _passed_by_others(request, evaluator, view, ready, rows)
    if not len(rows):
        return summary
    nodes = view.subset(rows)
    found = ready.summarise(request, nodes, nodes.present)
    message = f"only {count_nodes(len(rows))} could take it, and {found.message}"
    if len(rows) == 1:
        message = f"only {nodes.name(0)} could take it: {ready.refuse(request, nodes, 0).message}"
    kept = summary if summary.outcome == Outcome.INSUFFICIENT_RESOURCES else found
    return kept._replace(message=message)


def _passed_by_others(request: Request, evaluator: Evaluator, view: View, but: Filter, rows: Rows) -> Rows:
    """Those of the rows that every filter but one allows."""
    for plugin in evaluator.filters:
        if len(rows) and plugin is not but:
            answer, _ = evaluator.mask(plugin, request, view.subset(rows))
            rows = rows if answer is True else rows[np.broadcast_to(answer, len(rows))]
    return rows


def _without_words(plugin: Filter, error: Exception) -> str:
    return f"refused; plugin {plugin.name!r} failed to say why: {type(error).__name__}: {error}"


def grouped_refusals(
    request: Request, evaluator: Evaluator, view: View, filtered: FilterResult
) -> Iterator[GroupRefusal]:
    """Every node that the filters left out, under the first filter that refused it; nodes that refuse for the same
    reason share one sentence, which names no amounts of a single node. The view has present rows only."""
    alive: B1 = np.ones(view.size, dtype=np.bool_)
    for plugin, stage in zip(evaluator.filters, filtered.stages, strict=True):
        if stage is not alive:
            out = np.flatnonzero(alive & ~stage)
            if len(out):
                yield from _by_filter(plugin, request, view, out)
            alive = stage


def _by_filter(plugin: Filter, request: Request, view: View, out: Rows) -> list[GroupRefusal]:
    try:
        return list(plugin.refuse_many(request, view, out))
    except Exception as error:  # as for deciding: whatever a plugin raises, it is named and the answer goes on
        return [GroupRefusal(out, f"refused by {plugin.name!r}, which failed to say why: {error}")]
