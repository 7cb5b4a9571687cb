"""Settings of the engine, validated once at start, and the routing of workloads to schedulers and profiles."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from dovetail.model.recovery import RecoverySettings
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import AtField, Name, Strict, closest
from dovetail.model.workloads.preference import PlacePreference, PreferenceWeights
from dovetail.model.workloads.selection import Labels
from dovetail.model.workloads.workload import Workload
from dovetail.placement.gangs.domain_features import FEATURES
from dovetail.placement.gangs.strategies import STRATEGIES, StrategyBook
from dovetail.placement.pipeline.profiles import (
    BUILT_IN,
    DEFAULT_PROFILE,
    WITH_MARKET,
    ProfileSettings,
    UnknownProfile,
    with_market,
)
from dovetail.placement.registry import outside_strategies
from dovetail.queueing.orderings import Ordering, build_ordering
from dovetail.queueing.settings import (
    BackfillSettings,
    BackoffSettings,
    FairSettings,
    PromotionSettings,
    QuarantineSettings,
    QueueSettings,
)
from dovetail.queueing.tree import QueueTree

DEFAULT_SCHEDULER = "default"
MOST_WEIGHT = 1000
Ratio = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]


class SchedulerSettings(Strict):
    """A named scheduler: the namespaces it serves, its nodes and its profile."""

    profile: Name | None = None
    """Its profile for workloads that name none; by default `default_profile`."""
    namespaces: list[str] = []
    """The namespaces it serves, as patterns such as `ml-*`; none means all."""
    node_selector: Labels = {}
    """Labels of the nodes that it uses; none means all nodes."""
    order: Name | None = None
    """The order of its pending work (`docs/queueing.md`); by default that of its profile."""
    backfill: BackfillSettings = BackfillSettings()
    """Which work may start before the first of its queue."""

    def serves(self, namespace: str) -> bool:
        return not self.namespaces or any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)


class MarketSettings(Strict):
    """How places that could run a workload are compared (`docs/market.md`)."""

    prefer: PlacePreference | PreferenceWeights | None = None
    """What matters to workloads that do not say: `cheapest`, `fastest`, `greenest`, `local-first`, or weights. Left
    out: places are not compared."""
    margin: Duration = 60.0
    """The time that work which waits for cheaper nodes leaves before its deadline, for what goes wrong."""
    preempt: Literal["never", "savings"] = "never"
    """`savings`: work on your own nodes that could still meet its deadline elsewhere is stopped for work that would
    cost more elsewhere, and starts again from the beginning (or its last checkpoint)."""
    timetable: bool = False
    """Work with deadlines that waits for your own nodes gets a timetable of them: what waiting work is known is planned
    together, instead of one after the other in the order of the queue."""


class EngineSettings(Strict):
    seed: int = 0
    """Start of the random numbers, for `select: random` and the jitter of retries."""
    default_profile: Name = DEFAULT_PROFILE
    """The profile of workloads and schedulers that name none."""
    profiles: dict[Name, ProfileSettings] = {}
    """Profiles of your own by name, or changed built-in ones."""
    custom_strategy: str | None = None
    """The score plugin behind the profile `custom`."""
    schedulers: dict[Name, SchedulerSettings] = {}
    """Schedulers side by side, by name. Without any, one called `default` serves all namespaces."""
    overcommit: dict[str, Ratio] = {}
    """How much of a resource is offered, as a multiple of what nodes have: `{cpu: 2.0}`."""
    max_bind_failures: Annotated[int, Field(ge=1, le=100)] = 3
    """A task that backends refused so many times in a row has failed; before, it is placed again."""
    queues: dict[Name, QueueSettings] = {}
    """The tree of queues, by name; without any, all work waits in one (`docs/queueing.md`)."""
    fair: FairSettings = FairSettings()
    """The shares of tenants in the order `fair`."""
    backoff: BackoffSettings = BackoffSettings()
    """How long a failed task waits before its next attempt."""
    promotion: PromotionSettings | None = None
    """Raises the priority of work that waits long; left out: never."""
    quarantine: QuarantineSettings = QuarantineSettings()
    """When nodes on which work keeps failing get no more of it."""
    recovery: RecoverySettings = RecoverySettings()
    """What happens to gangs that lose nodes (`docs/recovery.md`)."""
    strategies: dict[Name, dict[str, Any]] = {}
    """How gangs choose their domain, by name: weights of features, or the settings of a plugin (`docs/gangs.md`)."""
    market: MarketSettings = MarketSettings()
    """How places that could run a workload are compared (`docs/market.md`)."""
    gang_strategy: Name | None = None
    """The strategy of gangs that name none; by default `pack` with GPUs and `balanced` without."""

    @model_validator(mode="after")
    def _check_strategies(self) -> Self:
        if not self.strategies and self.gang_strategy is None:
            return self  # avoids searching installed packages
        outside = outside_strategies()
        for name, weights in self.strategies.items():
            if name in outside:
                continue  # a plugin checks its settings when it is built
            for feature, weight in weights.items():
                if feature not in FEATURES:
                    words = f"is no feature of a domain.{closest(feature, FEATURES)} Known: {', '.join(FEATURES)}"
                    raise AtField(("strategies", name, feature), words)
                if isinstance(weight, bool) or not isinstance(weight, int | float) or not abs(weight) <= MOST_WEIGHT:
                    words = f"is {weight!r}; a weight is a number from {-MOST_WEIGHT} to {MOST_WEIGHT}"
                    raise AtField(("strategies", name, feature), words)
            if not weights:
                raise AtField(("strategies", name), f"weighs nothing; give weights of {', '.join(FEATURES)}")
        known = (*STRATEGIES, *self.strategies, *outside)
        if self.gang_strategy is not None and self.gang_strategy not in known:
            raise AtField(("gang_strategy",), str(UnknownStrategy(self.gang_strategy, dict.fromkeys(known))))
        return self

    def all_strategies(self) -> StrategyBook:
        """Built-in strategies, overridden by the user's, and plugins. Raises PluginError."""
        return StrategyBook(self.strategies, self.gang_strategy)

    def all_profiles(self) -> dict[str, ProfileSettings]:
        """Built-in profiles, overridden by the user's."""
        custom = {"custom": ProfileSettings(scores={self.custom_strategy: 1})} if self.custom_strategy else {}
        return {**BUILT_IN, **custom, **self.profiles}

    def all_schedulers(self) -> dict[str, SchedulerSettings]:
        return {DEFAULT_SCHEDULER: SchedulerSettings()} | self.schedulers


class Unroutable(ValueError):
    """No scheduler accepts this workload. The message says why and what would work."""


class UnknownStrategy(Unroutable):
    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = list(known)
        super().__init__(f"unknown strategy {name!r}.{closest(name, names)} Known: {', '.join(names)}")


class Router:
    """Chooses the scheduler, profile, queue and tenant of a workload."""

    def __init__(self, settings: EngineSettings) -> None:
        self.schedulers = settings.all_schedulers()
        self.profiles = settings.all_profiles()
        self.strategies = settings.all_strategies()
        self.fair = settings.fair
        self.market = settings.market
        self.queues = QueueTree(settings.queues)
        self._default_profile = settings.default_profile
        self._special = [name for name, scheduler in self.schedulers.items() if scheduler.namespaces]

    def route(self, spec: Workload) -> tuple[str, str]:
        """Scheduler and profile. Raises Unroutable (also for an unknown strategy) or UnknownProfile."""
        strategy = None if spec.topology is None else spec.topology.strategy
        if strategy is not None and strategy not in self.strategies:
            raise UnknownStrategy(strategy, self.strategies)
        scheduler = self._named(spec) if spec.scheduler is not None else self._serving(spec.namespace)
        profile = spec.profile or self.schedulers[scheduler].profile or self._default_profile
        if profile not in self.profiles:
            raise UnknownProfile(profile, list(self.profiles))
        return scheduler, profile

    def settings_of(self, profile: str) -> ProfileSettings:
        """Of a profile by name, also of one with the market. Raises UnknownProfile."""
        plain = profile.removesuffix(WITH_MARKET)
        if plain not in self.profiles:
            raise UnknownProfile(plain, list(self.profiles))
        return self.profiles[plain] if plain == profile else with_market(self.profiles[plain])

    def queue(self, name: str | None, namespace: str) -> int:
        """The code of the queue a workload waits in. Raises UnknownQueue."""
        return self.queues.resolve(name, namespace)

    def ordering(self, scheduler: str) -> Ordering:
        """Raises OrderingError."""
        settings = self.schedulers[scheduler]
        profile = self.profiles[settings.profile or self._default_profile]
        return build_ordering(settings.order or profile.order, self.fair.ageing)

    def _named(self, spec: Workload) -> str:
        name = spec.scheduler or DEFAULT_SCHEDULER
        if name not in self.schedulers:
            known = ", ".join(self.schedulers)
            raise Unroutable(f"unknown scheduler {name!r}.{closest(name, self.schedulers)} Known: {known}")
        if not self.schedulers[name].serves(spec.namespace):
            served = ", ".join(self.schedulers[name].namespaces)
            raise Unroutable(f"scheduler {name!r} does not serve namespace {spec.namespace!r}; it serves: {served}")
        return name

    def _serving(self, namespace: str) -> str:
        """A scheduler that names the namespace, or the default one."""
        for name in self._special:
            if self.schedulers[name].serves(namespace):
                return name
        if not self.schedulers[DEFAULT_SCHEDULER].serves(namespace):
            raise Unroutable(f"no scheduler serves namespace {namespace!r}")
        return DEFAULT_SCHEDULER
