"""Running a profile's filters and scores over a view, with each plugin's failure kept to itself.

A score that fails is left out of that decision and named in it. A filter that fails refuses every node (a filter is
a requirement), unless the profile says `on_filter_error: skip`. Nothing a plugin does stops the scheduler.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.devices import Slots
from dovetail.cluster.state import PLACEMENTS, Cluster
from dovetail.cluster.views.view import View
from dovetail.model.text.strict import closest
from dovetail.placement.contract import Filter, Request, Score
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.placement.registry import ABOUT_ROOM, POD_FILTERS, PluginError, build_filter, build_score

LOST = -np.inf  # the total of a node that may not take the task
MOST_POINTS = 1e9  # of an outsider, so that no weight can make a total infinite
#: Built-in filters that most requests give nothing to say, in the order in which `Evaluator._asked` looks for it.
_ABOUT = (
    "scope",
    "node_selector",
    "node_affinity",
    "promised",
    "constraints",
    "workload_affinity",
    "spread",
    "bandwidth",
    "gpus",
    "gpu_model",
    *POD_FILTERS,
)


@dataclass(slots=True)
class FilterResult:
    """What the filters left: a cumulative mask after each filter, and how many nodes that is."""

    stages: list[B1]
    counts: list[int]
    notes: tuple[str, ...]

    @property
    def alive(self) -> B1:
        return self.stages[-1]

    @property
    def feasible_ignoring_capacity(self) -> B1:
        """What is left before the filters about room: where it could go if others made way."""
        return self.stages[-ABOUT_ROOM - 1]


@dataclass(slots=True)
class Scored:
    """Points per score (a plain float where all nodes get the same) and the weighted total."""

    points: list[F8 | float]
    total: F8
    notes: tuple[str, ...]


class Evaluator:
    """A profile's plugins, built once. `failures` counts what went wrong, by plugin."""

    def __init__(self, name: str, settings: ProfileSettings) -> None:
        self.name = name
        self.settings = settings
        used = (*settings.all_filters, *settings.scores)
        for plugin_name in settings.settings:
            if plugin_name not in used:
                raise PluginError(
                    f"profile {name!r} has settings for {plugin_name!r}, which it does not use."
                    f"{closest(plugin_name, used)} Used: {', '.join(used)}"
                )
        self.filters: list[Filter] = [build_filter(f, settings.settings.get(f, {})) for f in settings.all_filters]
        self.scores: list[Score] = [build_score(s, settings.settings.get(s, {})) for s in settings.scores]
        self._asked_of: dict[tuple[bool, ...], tuple[Filter | None, ...]] = {}
        self.weights: list[float] = [float(weight) for weight in settings.scores.values()]
        self.failures: dict[str, int] = {}
        reads = [plugin.reads for plugin in self.filters] + [plugin.reads for plugin in self.scores]
        self.reads: frozenset[str] = frozenset().union(*reads)
        plugins: list[Filter | Score] = [*self.filters, *self.scores]
        self.local = all(getattr(plugin, "local", True) for plugin in plugins)
        self._outsiders = {plugin.name for plugin in plugins if not _built_in(plugin)}
        self._epochs = [getattr(plugin, "epoch", None) if _built_in(plugin) else None for plugin in self.scores]
        self.minds_outlook = any(self._epochs)
        self.looks_ahead = all(getattr(plugin, "looks_ahead", True) for plugin in plugins)
        self._minding_devices = [
            plugin
            for plugin, weight in zip(self.scores, self.weights, strict=True)
            if weight > 0 and hasattr(plugin, "devices")
        ]
        self.outsiders_read_placements = any(PLACEMENTS in p.reads for p in plugins if p.name in self._outsiders)

    def run_filters(self, request: Request, view: View) -> FilterResult:
        alive: B1 = view.present if request.among is None else view.present & request.among[view.rows]
        count = -1  # not counted yet
        stages: list[B1] = []
        counts: list[int] = []
        notes: tuple[str, ...] = ()
        for plugin in self._asked(request):
            if plugin is not None:
                answer, failure = self.mask(plugin, request, view)
                if failure:
                    notes = (*notes, failure)
                if answer is False:
                    alive = np.zeros(view.size, dtype=np.bool_)
                elif answer is not True:
                    alive = alive & answer
                if answer is not True:
                    count = -1
            if count < 0:
                count = int(np.count_nonzero(alive))
            stages.append(alive)
            counts.append(count)
        return FilterResult(stages, counts, notes)

    def reads_of(self, plugin: Filter | Score, request: Request) -> frozenset[str]:
        """Which column groups the plugin reads for this request."""
        reads_of = getattr(plugin, "reads_of", None)
        if reads_of is None or plugin.name in self._outsiders:
            return plugin.reads
        found: frozenset[str] = reads_of(request)
        return found

    def _asked(self, request: Request) -> tuple[Filter | None, ...]:
        """The filters, with None for built-in ones that have nothing to say about a request of this kind, as most have
        about most."""
        shape = request.shape
        kind = (
            not request.scope,
            not shape.node_selector,
            not (shape.required or shape.insisted),
            request.promised is None,
            not shape.wants,
            not (shape.company or request.repelled),
            not shape.spread,
            not shape.bandwidth_mbps,
            shape.gpus is None,
            shape.gpus is None,
            *(shape.kubernetes is None or not shape.kubernetes.asks,) * len(POD_FILTERS),
        )
        found = self._asked_of.get(kind)
        if found is None:
            idle = {name for name, nothing in zip(_ABOUT, kind, strict=True) if nothing}
            found = tuple([None if plugin.name in idle else plugin for plugin in self.filters])
            self._asked_of[kind] = found
        return found

    def epochs(self, request: Request) -> tuple[int, ...]:
        """By score: changes when its points do though no row did."""
        return tuple([0 if epoch is None else epoch(request) for epoch in self._epochs])

    def devices(self, request: Request, cluster: Cluster, row: int) -> Slots | None:
        """The GPUs that the task should get there, as the first score says that minds; None: whichever the device table
        says."""
        ask = request.shape.gpus
        if ask is None or not self._minding_devices:
            return None
        plugin: Any = self._minding_devices[0]
        view = View(cluster).subset(np.array([row], dtype=np.intp))
        try:
            found: Slots | None = plugin.devices(request, view)
        except Exception as error:  # as a score's points
            self._failed(plugin, error)
            return None
        return found if found is None or cluster.devices.fits(row, ask, found) else None

    def allows(self, plugin: Filter, request: Request, view: View) -> tuple[bool, str]:
        """One filter's word on the first node of a view, and what went wrong if the filter failed."""
        answer, failure = self.mask(plugin, request, view)
        return (answer if isinstance(answer, bool) else bool(answer[0])), failure

    def score(self, request: Request, view: View) -> Scored:
        """Totals are summed score by score in the profile's order, constants included, so that any other
        implementation that adds in that order gets the same bits."""
        total: F8 | None = None
        constant = 0.0
        points: list[F8 | float] = []
        notes: tuple[str, ...] = ()
        for plugin, weight in zip(self.scores, self.weights, strict=True):
            answer, failure = self.points(plugin, request, view)
            if failure:
                notes = (*notes, failure)
            points.append(answer)
            if isinstance(answer, float):
                if total is None:
                    constant += answer * weight
                elif answer:
                    total += answer * weight
            elif total is None:
                total = answer * weight
                if constant:
                    total += constant
            else:
                total += answer * weight
        return Scored(points, np.full(view.size, constant) if total is None else total, notes)

    def mask(self, plugin: Filter, request: Request, view: View) -> tuple[B1 | bool, str]:
        """One filter, what the profile says if it failed, and what went wrong."""
        try:
            answer = plugin.mask(request, view)
            if plugin.name in self._outsiders:
                answer = _checked(answer, view.size, mask=True)
        except Exception as error:  # a plugin may raise anything; it is named and the decision goes on
            return self.settings.on_filter_error == "skip", self._failed(plugin, error)
        return answer, ""

    def points(self, plugin: Score, request: Request, view: View) -> tuple[F8 | float, str]:
        """One score, 0 if it failed, and what went wrong."""
        try:
            answer = plugin.points(request, view)
            if plugin.name in self._outsiders:
                answer = _checked(answer, view.size, mask=False)
        except Exception as error:  # as above
            return 0.0, self._failed(plugin, error)
        return answer, ""

    def _failed(self, plugin: Filter | Score, error: Exception) -> str:
        self.failures[plugin.name] = self.failures.get(plugin.name, 0) + 1
        return f"plugin {plugin.name!r} failed: {type(error).__name__}: {error}"


def _built_in(plugin: object) -> bool:
    return type(plugin).__module__.startswith("dovetail.")


def _checked(answer: Any, size: int, mask: bool) -> Any:
    """An outsider's answer, or an error that says what is wrong with it."""
    if isinstance(answer, bool):
        if not mask:
            raise TypeError("a score returns numbers, not bools")
        return answer
    if isinstance(answer, int | float) and not mask:
        if not abs(answer) <= MOST_POINTS:  # false for NaN too
            raise ValueError(f"returned {answer}")
        return float(answer)
    array = np.asarray(answer)
    if array.shape != (size,):
        raise ValueError(f"returned shape {array.shape}, one entry a node would be ({size},)")
    if mask:
        if array.dtype != np.bool_:
            raise TypeError(f"a filter returns bools, not {array.dtype}")
        return array
    numbers = array.astype(np.float64)
    if not (np.abs(numbers) <= MOST_POINTS).all():
        raise ValueError(f"returned NaN, infinite points or points beyond {MOST_POINTS:g}")
    return numbers
