"""Every plugin, in the open: one dict a kind, entry points for outsiders, duplicates refused.

Built-in filters run in the order given here, cheap and seldom-changing ones first, so that the funnel reads from
"is it there" to "is there room".
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pydantic import ValidationError

from dovetail.cluster.state import GROUPS
from dovetail.model.arrangement import Strategy
from dovetail.model.strict import Strict, closest
from dovetail.placement.contract import Filter, Hook, NoSettings, Score
from dovetail.placement.filters.backend import Backend
from dovetail.placement.filters.bandwidth import Bandwidth
from dovetail.placement.filters.constraints import Constraints
from dovetail.placement.filters.gpu_model import GpuModel
from dovetail.placement.filters.gpus import FreeGpus
from dovetail.placement.filters.node_affinity import NodeAffinity
from dovetail.placement.filters.node_selector import NodeSelector
from dovetail.placement.filters.pod_affinity import PodAffinity
from dovetail.placement.filters.pod_attachments import PodAttachments
from dovetail.placement.filters.pod_devices import PodDevices
from dovetail.placement.filters.pod_node import PodNode
from dovetail.placement.filters.pod_spread import PodSpread
from dovetail.placement.filters.pod_volumes import PodVolumes
from dovetail.placement.filters.promised import Promised
from dovetail.placement.filters.ready import Ready
from dovetail.placement.filters.resources import Resources
from dovetail.placement.filters.scope import Scope
from dovetail.placement.filters.spread import Spread
from dovetail.placement.filters.taints import Taints
from dovetail.placement.filters.workload_affinity import WorkloadAffinity
from dovetail.placement.scores.affinity import Affinity, Avoided, Preferred
from dovetail.placement.scores.best_fit import BestFit
from dovetail.placement.scores.colocation import Colocation
from dovetail.placement.scores.domain import (
    DomainAvailability,
    DomainHistory,
    DomainUtilisation,
    TopologyAlignment,
)
from dovetail.placement.scores.domain_packing import DomainPacking
from dovetail.placement.scores.fragmentation import Fragmentation
from dovetail.placement.scores.gpu_model_preference import GpuModelPreference
from dovetail.placement.scores.gpu_packing import GpuPacking
from dovetail.placement.scores.gpu_scarcity import GpuScarcity
from dovetail.placement.scores.image_locality import ImageLocality
from dovetail.placement.scores.least_loaded import LeastLoaded
from dovetail.placement.scores.load_balance import LoadBalance
from dovetail.placement.scores.proximity import NetworkProximity, RelatedProximity
from dovetail.placement.scores.resource_balance import ResourceBalance
from dovetail.placement.scores.resource_utilisation import ResourceUtilisation

FILTERS: dict[str, type[Any]] = {
    plugin.name: plugin
    for plugin in (
        Ready,
        Scope,
        Backend,
        NodeSelector,
        NodeAffinity,
        Taints,
        GpuModel,
        Constraints,
        WorkloadAffinity,
        Spread,
        Bandwidth,
        Promised,
        FreeGpus,
        Resources,
    )
}
SCORES: dict[str, type[Any]] = {
    plugin.name: plugin
    for plugin in (
        ResourceUtilisation,
        LoadBalance,
        Affinity,
        Preferred,
        Avoided,
        NetworkProximity,
        RelatedProximity,
        Colocation,
        LeastLoaded,
        BestFit,
        ResourceBalance,
        DomainAvailability,
        TopologyAlignment,
        DomainUtilisation,
        DomainHistory,
        GpuPacking,
        DomainPacking,
        GpuModelPreference,
        Fragmentation,
        GpuScarcity,
        ImageLocality,
    )
}
BUILT_IN_FILTERS = tuple(FILTERS)
#: What only pods of Kubernetes ask for; run where a profile names them.
POD_FILTERS: dict[str, type[Any]] = {
    plugin.name: plugin for plugin in (PodNode, PodVolumes, PodAttachments, PodSpread, PodAffinity, PodDevices)
}
ABOUT_ROOM = 3  # the last of them: promised to others, in pieces, or taken

FILTER_GROUP, SCORE_GROUP, HOOK_GROUP = "dovetail.filters", "dovetail.scores", "dovetail.hooks"
STRATEGY_GROUP = "dovetail.strategies"
_METHODS = {"filter": "mask", "score": "points", "hook": "on_scheduled", "strategy": "points"}
_READING = frozenset({"filter", "score"})  # see columns of nodes, and have to say which


class PluginError(Exception):
    """A plugin is missing, double, or cannot be built; says which and what to do."""


def offered(group: str) -> dict[str, EntryPoint]:
    """Plugins that other packages offer, by name, not loaded yet."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=group):
        if point.name in found:
            raise PluginError(f"two packages offer a plugin {point.name!r} in {group}; uninstall one of them")
        found[point.name] = point
    return found


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise PluginError(f"plugin {point.name!r} ({point.value}) cannot be loaded: {error}") from error


@cache
def filters() -> dict[str, type[Any] | EntryPoint]:
    return _merged({**FILTERS, **POD_FILTERS}, FILTER_GROUP)


@cache
def scores() -> dict[str, type[Any] | EntryPoint]:
    return _merged(SCORES, SCORE_GROUP)


@cache
def outside_strategies() -> dict[str, EntryPoint]:
    """Those of other packages; the built-in ones are weights and stand in `strategies`."""
    found = offered(STRATEGY_GROUP)
    for name in found:
        if name in set(Strategy):
            raise PluginError(f"plugin {name!r} in {STRATEGY_GROUP} has the name of a built-in strategy; rename it")
    return found


def _merged(built_in: dict[str, type[Any]], group: str) -> dict[str, type[Any] | EntryPoint]:
    """An outsider is loaded only when a profile names it: a broken package that nobody uses hurts nobody."""
    found = offered(group)
    for name in found:
        if name in built_in:
            raise PluginError(f"plugin {name!r} in {group} has the name of a built-in one; rename it")
    return {**built_in, **found}


def build_filter(name: str, settings: dict[str, Any]) -> Filter:
    return _build("filter", filters(), name, settings)  # type: ignore[no-any-return]


def build_score(name: str, settings: dict[str, Any]) -> Score:
    return _build("score", scores(), name, settings)  # type: ignore[no-any-return]


def build_hook(name: str, settings: dict[str, Any]) -> Hook:
    return _build("hook", {**offered(HOOK_GROUP)}, name, settings)  # type: ignore[no-any-return]


def build_strategy(name: str, settings: dict[str, Any]) -> Any:  # `strategies`, which says what it is, builds on this
    return _build("strategy", {**outside_strategies()}, name, settings)


def _build(kind: str, known: dict[str, type[Any] | EntryPoint], name: str, settings: dict[str, Any]) -> Any:
    plugin = known.get(name)
    if plugin is None:
        raise PluginError(f"unknown {kind} {name!r}.{closest(name, known)} Known: {', '.join(known) or 'none'}")
    if isinstance(plugin, EntryPoint):
        plugin = _loaded(plugin)
    settings_type: type[Strict] = getattr(plugin, "Settings", NoSettings)
    try:
        checked = settings_type.model_validate(settings)
        built = plugin() if settings_type is NoSettings else plugin(checked)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'settings'}: {e['msg']}" for e in error.errors())
        raise PluginError(f"settings of {kind} {name!r}: {faults}") from error
    except Exception as error:  # an outsider's constructor may raise anything
        raise PluginError(f"{kind} {name!r} cannot be built: {type(error).__name__}: {error}") from error
    _check(built, name, kind)
    return built


def _check(plugin: Any, name: str, kind: str) -> None:
    """An outsider that does not keep to the contract is refused at start, not in the middle of a decision."""
    if getattr(plugin, "name", None) != name:
        raise PluginError(f"plugin {name!r} calls itself {getattr(plugin, 'name', None)!r}; the two names must agree")
    if not callable(getattr(plugin, _METHODS[kind], None)):
        raise PluginError(f"plugin {name!r} has no method {_METHODS[kind]}")
    if kind not in _READING:
        return
    unknown = sorted(set(getattr(plugin, "reads", ("(missing)",))) - set(GROUPS))
    if unknown:
        raise PluginError(f"plugin {name!r} reads {', '.join(unknown)}; column groups are {', '.join(GROUPS)}")
    if kind == "filter" and not isinstance(getattr(plugin, "reason", None), str):
        raise PluginError(f"filter {name!r} needs a `reason`, the word that a refused task is filed under")
