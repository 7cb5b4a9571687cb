"""When nothing fits: the dominant reason, what is short and by how much, and whether eviction could help.

Built from the filters' own answers, never from a second copy of their rules.
"""

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Explanation, FunnelStep, Refused
from dovetail.placement.contract import Filter, RefusalSummary, Request, count_nodes
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


def _word(plugin: Filter, request: Request, view: View) -> Refused:
    try:
        return plugin.refuse(request, view, 0)
    except Exception as error:  # the decision stands even if the filter cannot explain it
        return Refused(plugin.name, plugin.reason, _without_words(plugin, error))


def _summary(plugin: Filter, request: Request, view: View, candidates: B1) -> RefusalSummary:
    try:
        return plugin.summarise(request, view, candidates)
    except Exception as error:  # as above
        nodes = count_nodes(int(candidates.sum()))
        return RefusalSummary(plugin.reason, f"{plugin.name} refuses all of {nodes}: {_without_words(plugin, error)}")


def _without_words(plugin: Filter, error: Exception) -> str:
    return f"refused; plugin {plugin.name!r} failed to say why: {type(error).__name__}: {error}"
