"""Settings of the scheduler of a Kubernetes cluster."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings, SchedulerSettings
from dovetail.kubernetes.objects.pods import PROFILE
from dovetail.model.plugin_loading import PluginError
from dovetail.model.recovery import RecoverySettings
from dovetail.model.text.strict import AtField, Name, Strict
from dovetail.placement.pipeline.profiles import BUILT_IN, ProfileSettings, UnknownProfile
from dovetail.placement.registry import POD_FILTERS
from dovetail.queueing.settings import BackfillSettings, BackoffSettings, QuarantineSettings

DEFAULT_NAME = "dovetail"
_OFTEN = 100


class KubernetesSchedulerSettings(Strict):
    names: Annotated[dict[str, Name], Field(min_length=1, max_length=50)] = {DEFAULT_NAME: PROFILE}
    """The profile for each `schedulerName`."""
    profiles: dict[Name, ProfileSettings] = {}
    """Profiles of your own by name, or changed built-in ones."""
    bindings_at_once: Annotated[int, Field(ge=1, le=1000)] = 128
    """How many pods are bound at the same time."""
    audit_every_s: Annotated[float, Field(ge=0, le=86400)] = 300.0
    """How often the state is compared with the API, in seconds; 0: never."""
    seed: int = 0
    """Start of the random numbers."""

    @model_validator(mode="after")
    def _profiles_are_there(self) -> Self:
        known = [*BUILT_IN, *self.profiles]
        lines: dict[str, str] = {}
        for name, profile in self.names.items():
            other = lines.setdefault(line_of(name), name)
            if other != name:
                raise AtField(("names", name), f"is too much like {other!r}: give it a name with other letters")
            if profile not in known:
                raise AtField(("names", name), str(UnknownProfile(profile, known)))
        return self

    def engine(self) -> EngineSettings:
        """Settings of an engine for Kubernetes: whatever fits starts, nothing is promised a start time, and failed
        bindings are retried without end."""
        off, profiles = BackfillSettings(mode="off"), {**BUILT_IN, **self.profiles}
        used = dict.fromkeys([*self.profiles, *self.names.values()])
        lines = {line_of(name): profile for name, profile in self.names.items()}
        return EngineSettings(
            seed=self.seed,
            default_profile=next(iter(self.names.values())),
            profiles={name: _for_pods(profiles[name]) for name in used},
            schedulers={name: SchedulerSettings(profile=profile, backfill=off) for name, profile in lines.items()},
            max_bind_failures=_OFTEN,
            backoff=BackoffSettings(first=1.0, most=10.0),
            quarantine=QuarantineSettings(failures=1000, workloads=1000, pause=1.0),
            recovery=RecoverySettings(enabled=False),
        )


def engine_for(settings: KubernetesSchedulerSettings) -> Engine:
    """Raises ValueError for a profile that cannot be made."""
    try:
        return Engine(settings.engine())
    except PluginError as error:
        raise ValueError(str(error)) from None


def _for_pods(profile: ProfileSettings) -> ProfileSettings:
    """The profile with the filters that pods need, and with their rule of preemption."""
    missing = [name for name in POD_FILTERS if name not in profile.filters]
    return profile.model_copy(update={"filters": [*profile.filters, *missing], "victims": "kubernetes"})


def line_of(name: str) -> str:
    """The engine's name for this `schedulerName`, which may contain characters that our names may not."""
    return "k-" + "".join(char if char.isalnum() else "-" for char in name).strip("-").replace("--", "-")
