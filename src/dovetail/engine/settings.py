"""Settings of the engine: schedulers, profiles, overcommit, seed. Validated once, at start."""

from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from dovetail.model.selection import Labels
from dovetail.model.strict import Name, Strict, closest
from dovetail.model.workload import Workload
from dovetail.placement.profiles import BUILT_IN, DEFAULT_PROFILE, ProfileSettings, UnknownProfile

DEFAULT_SCHEDULER = "default"
Ratio = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]


class SchedulerSettings(Strict):
    """A named scheduler: which namespaces it serves, on which nodes, by which profile."""

    profile: Name | None = None
    namespaces: list[str] = []
    node_selector: Labels = {}

    def serves(self, namespace: str) -> bool:
        return not self.namespaces or any(fnmatchcase(namespace, pattern) for pattern in self.namespaces)


class EngineSettings(Strict):
    seed: int = 0
    default_profile: Name = DEFAULT_PROFILE
    profiles: dict[Name, ProfileSettings] = {}
    custom_strategy: str | None = Field(default=None, description="score plugin behind the profile `custom`")
    schedulers: dict[Name, SchedulerSettings] = {}
    overcommit: dict[str, Ratio] = {}
    max_bind_failures: Annotated[int, Field(ge=1, le=100)] = 3

    def all_profiles(self) -> dict[str, ProfileSettings]:
        """Built-in ones, overlaid by the user's."""
        custom = {"custom": ProfileSettings(scores={self.custom_strategy: 1})} if self.custom_strategy else {}
        return {**BUILT_IN, **custom, **self.profiles}

    def all_schedulers(self) -> dict[str, SchedulerSettings]:
        return {DEFAULT_SCHEDULER: SchedulerSettings()} | self.schedulers


class Unroutable(ValueError):
    """No scheduler may decide about this workload; says why and what would do."""


def route(settings: EngineSettings, spec: Workload) -> tuple[str, str]:
    """The scheduler and the profile that decide about a workload. Raises Unroutable or UnknownProfile."""
    schedulers = settings.all_schedulers()
    if spec.scheduler is not None:
        chosen = spec.scheduler
        if chosen not in schedulers:
            known = ", ".join(schedulers)
            raise Unroutable(f"unknown scheduler {chosen!r}.{closest(chosen, schedulers)} Known: {known}")
        if not schedulers[chosen].serves(spec.namespace):
            served = ", ".join(schedulers[chosen].namespaces)
            raise Unroutable(f"scheduler {chosen!r} does not serve namespace {spec.namespace!r}; it serves: {served}")
    else:
        special = (name for name, s in schedulers.items() if s.namespaces and s.serves(spec.namespace))
        chosen = next(special, DEFAULT_SCHEDULER)
        if not schedulers[chosen].serves(spec.namespace):
            raise Unroutable(f"no scheduler serves namespace {spec.namespace!r}")
    profile = spec.profile or schedulers[chosen].profile or settings.default_profile
    profiles = settings.all_profiles()
    if profile not in profiles:
        raise UnknownProfile(profile, list(profiles))
    return chosen, profile
