"""Settings of the scheduler of a Kubernetes cluster."""

from typing import Annotated

from pydantic import Field

from dovetail.engine.settings import EngineSettings, SchedulerSettings
from dovetail.kubernetes.pods import PROFILE
from dovetail.model.recovery import RecoverySettings
from dovetail.model.strict import Name, Strict
from dovetail.placement.profiles import ProfileSettings
from dovetail.placement.registry import POD_FILTERS
from dovetail.queueing.backfill import BackfillSettings
from dovetail.queueing.retry import BackoffSettings, QuarantineSettings

DEFAULT_NAME = "dovetail"
_OFTEN = 100


class KubernetesSchedulerSettings(Strict):
    """`names`: pods with this `schedulerName` are placed by this profile; `audit_every_s`: how often everything that we
    know is compared with the API, 0 for never."""

    names: Annotated[dict[str, Name], Field(min_length=1, max_length=50)] = {DEFAULT_NAME: PROFILE}
    profiles: dict[Name, ProfileSettings] = {}
    bindings_at_once: Annotated[int, Field(ge=1, le=1000)] = 48
    audit_every_s: Annotated[float, Field(ge=0, le=86400)] = 300.0
    seed: int = 0

    def engine(self) -> EngineSettings:
        """The engine as a cluster of Kubernetes wants it: everything that fits starts, nobody is promised a time, and
        what fails to be bound is tried again and again."""
        off = BackfillSettings(mode="off")
        schedulers = {
            name: SchedulerSettings(profile=profile, backfill=off) for name, profile in self._by_line().items()
        }
        return EngineSettings(
            seed=self.seed,
            default_profile=next(iter(self.names.values())),
            profiles={name: _for_pods(profile) for name, profile in self.profiles.items()},
            schedulers=schedulers,
            max_bind_failures=_OFTEN,
            backoff=BackoffSettings(first=1.0, most=10.0),
            quarantine=QuarantineSettings(failures=1000, pause=1.0),
            recovery=RecoverySettings(enabled=False),
        )

    def _by_line(self) -> dict[str, str]:
        return {line_of(name): profile for name, profile in self.names.items()}


def _for_pods(profile: ProfileSettings) -> ProfileSettings:
    """A profile that says nothing of filters has those that pods need."""
    return profile if profile.filters else profile.model_copy(update={"filters": list(POD_FILTERS)})


def line_of(name: str) -> str:
    """What the engine calls a scheduler of this name, which Kubernetes lets be more than a name of ours."""
    return "k-" + "".join(char if char.isalnum() else "-" for char in name).strip("-").replace("--", "-")
