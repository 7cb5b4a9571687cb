"""Named policies for batch queues, as settings of the engine: the order of the queue, and its backfill.

Published policies follow the textbook: the chosen head stays until it starts, its reservation is made once, and
backfill candidates come in submission order and must end before the reservation begins. `dovetail` is our own
default.
Guarantees: every policy works with every kind of backfill. A policy is one line here and one ordering in `queueing`.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from dovetail.engine.settings import DEFAULT_SCHEDULER, EngineSettings, SchedulerSettings
from dovetail.model.text.strict import closest
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.queueing.settings import BackfillSettings

Backfill = Literal["none", "easy", "conservative"]
BACKFILLS: tuple[Backfill, ...] = get_args(Backfill)
PROFILE = "batch-log"

TEXTBOOK = BackfillSettings(mode="easy", candidates="arrival", head="sticky", spare=False)
#: What our own policy does: the reservation is made anew at every event, and candidates come in the policy's order.
REPLANNED = BackfillSettings(mode="easy", candidates="queue", head="first", spare=True)


class UnknownPolicy(ValueError):
    """Names the policy and lists those that exist."""


@dataclass(frozen=True, slots=True)
class BatchPolicy:
    name: str
    order: str
    about: str
    backfill: BackfillSettings = TEXTBOOK
    by_moment: bool = False  # decides after all events of a moment, not after each

    def settings(self, backfill: Backfill = "easy", seed: int = 0) -> EngineSettings:
        """The engine that plays it. One node needs no scores: the profile only asks whether a job fits."""
        scheduler = SchedulerSettings(profile=PROFILE, order=self.order, backfill=self._backfill(backfill))
        return EngineSettings(
            seed=seed,
            default_profile=PROFILE,
            profiles={PROFILE: ProfileSettings(preemption=False)},
            schedulers={DEFAULT_SCHEDULER: scheduler},
        )

    def _backfill(self, mode: Backfill) -> BackfillSettings:
        if mode == "conservative":  # there is no single head to stick to
            return BackfillSettings(mode=mode, run_times=self.backfill.run_times)
        return self.backfill.model_copy(update={"mode": mode})


POLICIES: dict[str, BatchPolicy] = {
    policy.name: policy
    for policy in (
        BatchPolicy("dovetail", "batch", "our own default for batch queues", REPLANNED, by_moment=True),
        BatchPolicy("fcfs", "fifo", "first come, first served"),
        BatchPolicy("sjf", "shortest", "the shortest requested time first"),
        BatchPolicy("f1", "f1", "log10(requested time) × processors + 870 × log10(submit time)"),
        BatchPolicy("area", "smallest_area", "the smallest requested time × processors first"),
    )
}
DEFAULT_POLICIES = ("dovetail", "fcfs")


def policy_named(name: str) -> BatchPolicy:
    """Raises UnknownPolicy."""
    if name not in POLICIES:
        raise UnknownPolicy(f"unknown policy {name!r}.{closest(name, POLICIES)} Known: {', '.join(POLICIES)}")
    return POLICIES[name]
