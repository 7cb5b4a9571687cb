"""All plugins by name: one dict a kind, entry points for other packages, duplicates refused.

Built-in filters run in the order given here, by stage, and in a stage cheap and seldom-changing ones first, so that the
funnel reads from "is the node there" to "is there enough free".
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, TypeVar

from pydantic import ValidationError

from dovetail.cluster.change_log import GROUPS
from dovetail.model.plugin_loading import PluginError, class_of, offered_plugins
from dovetail.model.text.strict import Strict, closest
from dovetail.model.text.validation_errors import faults_in_words
from dovetail.model.workloads.arrangement import StrategyName
from dovetail.placement.contract import Filter, Hook, NoSettings, PlacementPlugin, Score
from dovetail.placement.filters.bandwidth import BandwidthFilter
from dovetail.placement.filters.constraints import ConstraintsFilter
from dovetail.placement.filters.gpus import FreeGpusFilter, GpuModelFilter
from dovetail.placement.filters.node_labels import NodeAffinityFilter, NodeSelectorFilter, ScopeFilter
from dovetail.placement.filters.pod_affinity import PodAffinityFilter, PodSpreadFilter
from dovetail.placement.filters.pod_node import PodDevicesFilter, PodNodeFilter
from dovetail.placement.filters.pod_volumes import PodAttachmentsFilter, PodVolumesFilter
from dovetail.placement.filters.promised import PromisedFilter
from dovetail.placement.filters.resources import ResourcesFilter
from dovetail.placement.filters.status import BackendFilter, ReadyFilter
from dovetail.placement.filters.taints import TaintsFilter
from dovetail.placement.filters.waits_for_cheaper import WaitsForCheaperFilter
from dovetail.placement.filters.workload_affinity import SpreadFilter, WorkloadAffinityFilter
from dovetail.placement.scores.affinity import AffinityScore, AvoidedScore, ImageLocalityScore, PreferredScore
from dovetail.placement.scores.domain import (
    DomainAvailabilityScore,
    DomainHistoryScore,
    DomainPackingScore,
    DomainUtilisationScore,
    TopologyAlignmentScore,
)
from dovetail.placement.scores.fragmentation import FragmentationScore
from dovetail.placement.scores.gpus import GpuModelPreferenceScore, GpuPackingScore, GpuScarcityScore, GpuSupportScore
from dovetail.placement.scores.market import (
    CarbonScore,
    EgressScore,
    LocalScore,
    PriceScore,
    RiskScore,
    StartScore,
)
from dovetail.placement.scores.proximity import ColocationScore, NetworkProximityScore, RelatedProximityScore
from dovetail.placement.scores.resource_utilisation import ResourceUtilisationScore
from dovetail.placement.scores.shares import BestFitScore, LeastLoadedScore, LoadBalanceScore, ResourceBalanceScore

P = TypeVar("P", bound=PlacementPlugin)


def _by_name(*plugins: type[P]) -> dict[str, type[P]]:
    return {plugin.name: plugin for plugin in plugins}


FILTERS: dict[str, type[Filter]] = _by_name(
    ReadyFilter,
    ScopeFilter,
    BackendFilter,
    NodeSelectorFilter,
    NodeAffinityFilter,
    TaintsFilter,
    GpuModelFilter,
    ConstraintsFilter,
    WorkloadAffinityFilter,
    SpreadFilter,
    BandwidthFilter,
    PromisedFilter,
    FreeGpusFilter,
    ResourcesFilter,
)
SCORES: dict[str, type[Score]] = _by_name(
    ResourceUtilisationScore,
    LoadBalanceScore,
    AffinityScore,
    PreferredScore,
    AvoidedScore,
    NetworkProximityScore,
    RelatedProximityScore,
    ColocationScore,
    LeastLoadedScore,
    BestFitScore,
    ResourceBalanceScore,
    DomainAvailabilityScore,
    TopologyAlignmentScore,
    DomainUtilisationScore,
    DomainHistoryScore,
    GpuPackingScore,
    GpuSupportScore,
    DomainPackingScore,
    GpuModelPreferenceScore,
    FragmentationScore,
    GpuScarcityScore,
    ImageLocalityScore,
    PriceScore,
    StartScore,
    CarbonScore,
    EgressScore,
    RiskScore,
    LocalScore,
)
#: What only pods of Kubernetes ask for; run where a profile names them.
POD_FILTERS: dict[str, type[Filter]] = _by_name(
    PodNodeFilter,
    PodVolumesFilter,
    PodAttachmentsFilter,
    PodSpreadFilter,
    PodAffinityFilter,
    PodDevicesFilter,
)
#: What only work that compares prices asks for; run in profiles with the market (`placement.pipeline.profiles`).
MARKET_FILTERS: dict[str, type[Filter]] = _by_name(WaitsForCheaperFilter)

FILTER_GROUP, SCORE_GROUP, HOOK_GROUP = "dovetail.filters", "dovetail.scores", "dovetail.hooks"
STRATEGY_GROUP = "dovetail.strategies"
_BASES: dict[str, type[Any]] = {"filter": Filter, "score": Score}
_METHODS = {"hook": "on_scheduled", "strategy": "points"}


@cache
def filters() -> dict[str, type[Any] | EntryPoint]:
    return _merged({**FILTERS, **POD_FILTERS, **MARKET_FILTERS}, FILTER_GROUP)


@cache
def scores() -> dict[str, type[Any] | EntryPoint]:
    return _merged(SCORES, SCORE_GROUP)


@cache
def outside_strategies() -> dict[str, EntryPoint]:
    """Strategies of other packages; the built-in ones are weights in `strategies`."""
    return offered_plugins(STRATEGY_GROUP, set(StrategyName), noun="strategy")


def is_built_in(plugin: PlacementPlugin) -> bool:
    return type(plugin) in {*FILTERS.values(), *POD_FILTERS.values(), *MARKET_FILTERS.values(), *SCORES.values()}


@cache
def sees_image(filters_named: tuple[str, ...], scores_named: tuple[str, ...]) -> bool:
    """Does any of these plugins look at the image of a task? Unknown ones do not."""
    named = [filters().get(name) for name in filters_named] + [scores().get(name) for name in scores_named]
    return any(class_of(one).sees_image for one in named if one is not None)


def _merged(built_in: Mapping[str, type[Any]], group: str) -> dict[str, type[Any] | EntryPoint]:
    """A plugin of another package is loaded only when a profile names it, so a broken package that no profile uses does
    no harm."""
    return {**built_in, **offered_plugins(group, built_in)}


def build_filter(name: str, settings: dict[str, Any]) -> Filter:
    return _build("filter", filters(), name, settings)  # type: ignore[no-any-return]


def build_score(name: str, settings: dict[str, Any]) -> Score:
    return _build("score", scores(), name, settings)  # type: ignore[no-any-return]


def build_hook(name: str, settings: dict[str, Any]) -> Hook:
    return _build("hook", {**offered_plugins(HOOK_GROUP)}, name, settings)  # type: ignore[no-any-return]


def build_strategy(name: str, settings: dict[str, Any]) -> Any:  # `strategies`, which says what it is, builds on this
    return _build("strategy", {**outside_strategies()}, name, settings)


def _build(kind: str, known: dict[str, type[Any] | EntryPoint], name: str, settings: dict[str, Any]) -> Any:
    plugin = known.get(name)
    if plugin is None:
        raise PluginError(f"unknown {kind} {name!r}.{closest(name, known)} Known: {', '.join(known) or 'none'}")
    made_by = class_of(plugin)
    settings_type: type[Strict] = getattr(made_by, "Settings", NoSettings)
    try:
        checked = settings_type.model_validate(settings)
        built = made_by() if settings_type is NoSettings else made_by(checked)
    except ValidationError as error:
        raise PluginError(f"settings of {kind} {name!r}: {faults_in_words(error, settings_type)}") from error
    except Exception as error:  # an outsider's constructor may raise anything
        raise PluginError(f"{kind} {name!r} cannot be built: {type(error).__name__}: {error}") from error
    _check(built, name, kind)
    return built


def _check(plugin: Any, name: str, kind: str) -> None:
    """A plugin that breaks the contract is refused at start, not in the middle of a decision."""
    base = _BASES.get(kind)
    if base is not None and not isinstance(plugin, base):
        raise PluginError(f"plugin {name!r} is no {kind}: derive it from dovetail.placement.contract.{base.__name__}")
    if getattr(plugin, "name", None) != name:
        raise PluginError(f"plugin {name!r} calls itself {getattr(plugin, 'name', None)!r}; the two names must agree")
    if not isinstance(plugin, PlacementPlugin):
        if not callable(getattr(plugin, _METHODS[kind], None)):
            raise PluginError(f"plugin {name!r} has no method {_METHODS[kind]}")
        return
    unknown = sorted(set(plugin.reads) - set(GROUPS))
    if unknown:
        raise PluginError(f"plugin {name!r} reads {', '.join(unknown)}; column groups are {', '.join(GROUPS)}")
    if isinstance(plugin, Filter) and not isinstance(getattr(plugin, "reason", None), str):
        raise PluginError(f"filter {name!r} needs a `reason`, the word that a refused task is filed under")
