"""Runs a profile's filters and scores over a view, and contains their failures.

A score that fails is left out of that decision and named in it. A filter that fails refuses every node (a filter is a
requirement), unless the profile says `on_filter_error: skip`. No plugin can stop the scheduler.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.change_log import DEVICES, GROUPS, PLACEMENTS, RESOURCES
from dovetail.cluster.devices import Slots
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.plugin_loading import PluginError
from dovetail.model.text.strict import closest
from dovetail.placement.contract import (
    ANYTHING,
    OWN_NODE,
    CopyEffect,
    EvictionHelps,
    Filter,
    FilterStage,
    Request,
    Score,
    WakeSignals,
)
from dovetail.placement.filters.resources import ResourcesFilter
from dovetail.placement.pipeline.eligibility_cache import EligibilityCache
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.placement.registry import build_filter, build_score, is_built_in

LOST = -np.inf  # the total of a node that may not take the task
MOST_POINTS = 1e9  # of an outsider, so that no weight can make a total infinite
#: Column groups that placing one more task on a node changes.
PLACING_CHANGES = frozenset({RESOURCES, PLACEMENTS, DEVICES})
_GROUPS = frozenset(GROUPS)
#: Whether it applies (None: always), and whether its answers are checked.
AskedFilter = tuple[Filter, Callable[[Request], bool] | None, bool]


@dataclass(slots=True)
class FilterResult:
    """The result of the filters: a cumulative mask after each filter, and how many nodes that leaves."""

    stages: list[B1]
    counts: list[int]
    notes: tuple[str, ...]
    eligibility: int  # how many of the filters come before those about capacity
    masks: npt.NDArray[np.bool_] | None = None  # bool[filter, node]: each filter's own answer, where they are kept
    _eligible: "FilterResult | None" = None  # of the filters before those about capacity, which may be cached
    _rows: Rows | None = None

    @property
    def alive(self) -> B1:
        return self.stages[-1]

    @property
    def rows(self) -> Rows:
        """Positions of the nodes left. Often capacity refuses none of the eligible ones, and those are known."""
        if self._rows is None:
            eligible = self._eligible
            if eligible is not None and eligible.counts[-1] == self.counts[-1]:
                self._rows = eligible.rows
            else:
                self._rows = self.alive.nonzero()[0]
        return self._rows

    def after(self, eligible: "FilterResult") -> "FilterResult":
        """This result of the filters about capacity, with those before them."""
        stages, counts = eligible.stages + self.stages, eligible.counts + self.counts
        return FilterResult(stages, counts, eligible.notes + self.notes, self.eligibility, _eligible=eligible)

    @property
    def feasible_ignoring_capacity(self) -> B1:
        """Nodes that pass every filter but those about capacity: where it could go if others left."""
        return self.stages[self.eligibility - 1]


@dataclass(slots=True)
class Scored:
    """Points per score (a plain float where all nodes get the same) and the weighted total."""

    points: list[F8 | float]
    total: F8
    notes: tuple[str, ...]


class Evaluator:
    """A profile's plugins, built once. `failures` counts failed calls, by plugin."""

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
        filters = [build_filter(f, settings.settings.get(f, {})) for f in settings.all_filters]
        self.filters: list[Filter] = sorted(filters, key=lambda plugin: plugin.stage)
        self.scores: list[Score] = [build_score(s, settings.settings.get(s, {})) for s in settings.scores]
        self.weights: list[float] = [float(weight) for weight in settings.scores.values()]
        self.failures: dict[str, int] = {}
        self._skip_failed = settings.on_filter_error == "skip"
        plugins: list[Filter | Score] = [*self.filters, *self.scores]
        self.local = all(plugin.local for plugin in plugins)
        self._outsiders = {plugin.name for plugin in plugins if not is_built_in(plugin)}
        self._asked: list[AskedFilter] = [
            (f, None if type(f).applies is Filter.applies else f.applies, f.name in self._outsiders)
            for f in self.filters
        ]
        self._weighted = [
            (s, weight, s.name in self._outsiders) for s, weight in zip(self.scores, self.weights, strict=True)
        ]
        self.minds_outlook = any(plugin.uses_outlook for plugin in self.scores)
        self.looks_ahead = all(plugin.looks_ahead for plugin in plugins)
        self._choosing_devices = next(
            (s for s, weight in zip(self.scores, self.weights, strict=True) if weight > 0 and s.chooses_devices), None
        )
        self.eligibility = sum(plugin.stage is FilterStage.ELIGIBILITY for plugin in self.filters)
        self._eligible: EligibilityCache[FilterResult] = EligibilityCache(
            self.filters[: self.eligibility], self._outsiders
        )
        #: The filter on amounts, which every profile has.
        self.resources = next(plugin for plugin in self.filters if isinstance(plugin, ResourcesFilter))
        # Most filters wait for their own node alone.
        self._waking = [f for f in self.filters if f.wakes_on or type(f).wake_signals is not Filter.wake_signals]
        self._cleared_by_trial = [f for f in self.filters if f.eviction_helps is EvictionHelps.BY_TRIAL]
        #: Capacity filters that may refuse a node with enough of every amount, though victims are found by amounts.
        self.misled_by_amounts = [f for f in self.filters[self.eligibility :] if f.amounts_mislead]

    def run_filters(self, request: Request, view: View) -> FilterResult:
        eligible = self._eligibility(request, view, self._eligible.key(request, view))
        found = self._run(self._asked[self.eligibility :], request, view, eligible.alive, eligible.counts[-1])
        return found.after(eligible)

    def eligible(self, request: Request, view: View) -> B1 | None:
        """Nodes that pass every filter but those about capacity, if that can be told without asking each time."""
        key = self._eligible.key(request, view)
        return None if key is None else self._eligibility(request, view, key).alive

    def _eligibility(self, request: Request, view: View, key: Hashable | None) -> FilterResult:
        """Tasks ask for few kinds of nodes again and again, so it is cached until a node changes."""
        found = None if key is None else self._eligible.get(key)
        if found is None:
            alive = view.present if request.among is None else view.present & request.among[view.rows]
            found = self._run(self._asked[: self.eligibility], request, view, alive)
            if key is not None and not found.notes:
                self._eligible.keep(key, found, view)
        return found

    def _run(
        self, filters: list[AskedFilter], request: Request, view: View, alive: B1, count: int = -1
    ) -> FilterResult:
        """Some filters in turn, from the nodes that are still alive. `count`: how many those are, -1 if not known."""
        stages: list[B1] = []
        counts: list[int] = []
        notes: tuple[str, ...] = ()
        for plugin, applies, outsider in filters:
            answer: B1 | bool = True
            try:
                if applies is None or applies(request):
                    answer = plugin.mask(request, view)
                    if outsider:
                        answer = _checked(answer, view.size, mask=True)
            except Exception as error:  # a plugin may raise anything; it is named and the decision goes on
                answer, notes = self._skip_failed, (*notes, self._failed(plugin, error))
            if answer is not True:
                alive = alive & answer
                count = -1
            if count < 0:
                count = int(np.count_nonzero(alive))
            stages.append(alive)
            counts.append(count)
        return FilterResult(stages, counts, notes, self.eligibility)

    def reads_of(self, plugin: Filter | Score, request: Request) -> frozenset[str]:
        """Which column groups the plugin reads for this request; all of them, if it fails to say."""
        try:
            if isinstance(plugin, Filter) and not plugin.applies(request):
                return frozenset()
            return plugin.reads_of(request) & _GROUPS
        except Exception as error:  # a plugin may raise anything
            self._failed(plugin, error)
            return _GROUPS

    def wake_signals(self, request: Request) -> WakeSignals:
        """What can make a refused request fit, beside a change of a node that has room for it."""
        found = OWN_NODE
        for plugin in self._waking:
            try:
                signals = plugin.wake_signals(request) if plugin.applies(request) else OWN_NODE
            except Exception as error:  # a plugin may raise anything
                self._failed(plugin, error)
                signals = ANYTHING
            if signals is not OWN_NODE:
                found |= signals
        return found

    def requirement(self, plugin: Filter, request: Request) -> str | None:
        """What the filter requires, in words; None where it does not apply."""
        try:
            return plugin.requirement(request) if plugin.applies(request) else None
        except Exception as error:  # a plugin may raise anything
            return self._failed(plugin, error)

    def copies_interact(self, request: Request, *followed: CopyEffect) -> bool:
        """May a placed copy of the task change a filter's answer for the next one in other ways than those that the
        caller follows itself?"""
        others = [plugin for plugin in self.filters if plugin.copy_effect not in followed]
        return any(not PLACING_CHANGES.isdisjoint(self.reads_of(plugin, request)) for plugin in others)

    def refused_until_trial(self, request: Request, view: View) -> B1 | None:
        """Nodes that a filter refuses for which victims are found by trial; None: no such filter refuses any."""
        found: B1 | None = None
        for plugin in self._cleared_by_trial:
            answer, failure = self.mask(plugin, request, view)
            if answer is not True and not failure:
                refused = np.broadcast_to(np.logical_not(answer), view.size)
                found = refused if found is None else found | refused
        return found

    def epochs(self, request: Request) -> tuple[int, ...]:
        """By score: a number that differs when its points differ though no row changed."""
        return tuple([self._epoch(plugin, request) for plugin in self.scores])

    def _epoch(self, plugin: Score, request: Request) -> int:
        try:
            return plugin.epoch(request)
        except Exception as error:  # a plugin may raise anything
            self._failed(plugin, error)
            return 0

    def devices(self, request: Request, cluster: Cluster, row: int) -> Slots | None:
        """The GPUs that the task should get there, by the first score that chooses; None: the device table does."""
        ask, plugin = request.shape.gpus, self._choosing_devices
        if ask is None or plugin is None:
            return None
        view = View(cluster).subset(np.array([row], dtype=np.intp))
        try:
            found = plugin.devices(request, view)
        except Exception as error:  # as a score's points
            self._failed(plugin, error)
            return None
        return found if found is None or cluster.devices.fits(row, ask, found) else None

    def allows(self, plugin: Filter, request: Request, view: View) -> tuple[bool, str]:
        """One filter's answer for the first node of a view, and what went wrong if the filter failed."""
        answer, failure = self.mask(plugin, request, view)
        return (answer if isinstance(answer, bool) else bool(answer[0])), failure

    def score(self, request: Request, view: View) -> Scored:
        """Totals are summed score by score in the profile's order, constants included, so that any other
        implementation that adds in that order gets the same bits."""
        total: F8 | None = None
        constant = 0.0
        points: list[F8 | float] = []
        notes: tuple[str, ...] = ()
        for plugin, weight, outsider in self._weighted:
            answer: F8 | float
            try:
                answer = plugin.points(request, view)
                if outsider:
                    answer = _checked(answer, view.size, mask=False)
            except Exception as error:  # as above
                answer, notes = 0.0, (*notes, self._failed(plugin, error))
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
        """One filter (True, where it does not apply), what the profile says if it failed, and what went wrong."""
        try:
            answer = not plugin.applies(request) or plugin.mask(request, view)
            if plugin.name in self._outsiders:
                answer = _checked(answer, view.size, mask=True)
        except Exception as error:  # as above
            return self._skip_failed, self._failed(plugin, error)
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


def _checked(answer: Any, size: int, mask: bool) -> Any:
    """The answer of another package's plugin; raises an error that names what is wrong with it."""
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
