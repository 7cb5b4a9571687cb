"""What is kept about a service, and what is seen of its replicas."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from dovetail.model.services.service import Service


class RolloutState(StrEnum):
    PROGRESSING = "progressing"
    COMPLETE = "complete"
    FAILED = "failed"  # and stays so until the definition changes, or the replicas become well after all
    ROLLED_BACK = "rolled_back"


@dataclass(frozen=True, slots=True)
class Revision:
    """One version of the definition. `cause`: who or what made it."""

    number: int
    spec: Service
    made_at: float
    cause: str = ""


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """`target`: the revision that replicas should have. `stable`: the last one that became healthy, 0 if none did.
    `active`: the revision that gets traffic in a blue-green update, 0 for all. `best`: how many replicas of the target
    were ready at most, at `progress_at`. `message`: what a person should know about the last update."""

    namespace: str
    name: str
    revisions: tuple[Revision, ...]
    target: int
    replicas: int
    stable: int = 0
    active: int = 0
    rollout: RolloutState = RolloutState.PROGRESSING
    best: int = 0
    progress_at: float = 0.0
    message: str = ""
    removed: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name

    @property
    def spec(self) -> Service:
        return self.revision(self.target).spec

    def spec_of(self, number: int) -> Service:
        """The definition of a revision; the present one for a revision that is not kept any more."""
        return next((one.spec for one in self.revisions if one.number == number), self.spec)

    def revision(self, number: int) -> Revision:
        """Raises KeyError for one that is not kept any more."""
        for one in self.revisions:
            if one.number == number:
                return one
        raise KeyError(number)

    @property
    def newest(self) -> int:
        return max(one.number for one in self.revisions)

    def aiming_at(self, number: int, now: float, rollout: RolloutState, message: str = "") -> "ServiceRecord":
        """From now on replicas should have this revision."""
        return replace(self, target=number, rollout=rollout, best=0, progress_at=now, message=message)


@dataclass(frozen=True, slots=True)
class ReplicaSeen:
    """A replica that has not ended. `ready_since`: None while it is not ready. `draining_since`: since when it gets no
    traffic because it is to stop. `stopping`: it was told to. `crashes`: short runs in a row. `trouble`: why it is not
    ready, in words. `unknown`: it runs, and too few of its checks were answered to say whether it is ready."""

    index: int
    revision: int
    workload: int
    ready_since: float | None = None
    draining_since: float | None = None
    stopping: bool = False
    crashes: int = 0
    trouble: str = ""
    unknown: bool = False

    @property
    def is_live(self) -> bool:
        return not self.stopping and self.draining_since is None


@dataclass(frozen=True, slots=True)
class Create:
    revision: int
    index: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Take it out of discovery; it is stopped later."""

    workload: int


@dataclass(frozen=True, slots=True)
class StopReplica:
    workload: int
    why: str


Action = Create | Drain | StopReplica


@dataclass(frozen=True, slots=True)
class NextStep:
    """`record`: as it is from now on. `look_again_at`: when time alone changes something; None if it does not."""

    record: ServiceRecord
    actions: list[Action] = field(default_factory=list)
    look_again_at: float | None = None
