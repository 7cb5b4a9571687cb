"""What the answers to the health checks of one attempt add up to."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from dovetail.model.services.health import Health, HealthCheck


class CheckKind(StrEnum):
    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"


@dataclass(frozen=True, slots=True)
class CheckState:
    """`well`: None until enough answers came. `said`: what was wrong last."""

    well: bool | None = None
    good: int = 0
    bad: int = 0
    said: str = ""

    def after(self, check: HealthCheck, problem: str) -> "CheckState":
        """With one more answer; an empty `problem` is a good one."""
        if problem:
            bad = self.bad + 1
            return replace(self, good=0, bad=bad, said=problem, well=False if bad >= check.failures else self.well)
        good = self.good + 1
        return replace(self, bad=0, good=good, said="", well=True if good >= check.successes else self.well)


@dataclass(frozen=True, slots=True)
class AttemptHealth:
    """`started_at`: of the attempt."""

    started_at: float
    states: dict[CheckKind, CheckState] = field(default_factory=dict)

    def of(self, kind: CheckKind) -> CheckState:
        return self.states.get(kind, CheckState())

    def answered(self, kind: CheckKind, check: HealthCheck, problem: str) -> "AttemptHealth":
        return replace(self, states={**self.states, kind: self.of(kind).after(check, problem)})


def due_checks(health: Health, found: AttemptHealth) -> list[tuple[CheckKind, HealthCheck]]:
    """The checks that are asked now: startup alone until it is well."""
    if health.startup is not None and not found.of(CheckKind.STARTUP).well:
        return [(CheckKind.STARTUP, health.startup)]
    others = ((CheckKind.READINESS, health.readiness), (CheckKind.LIVENESS, health.liveness))
    return [(kind, check) for kind, check in others if check is not None]


def is_ready(health: Health, found: AttemptHealth) -> bool:
    if health.startup is not None and not found.of(CheckKind.STARTUP).well:
        return False
    return health.readiness is None or found.of(CheckKind.READINESS).well is True


def is_unknown(health: Health, found: AttemptHealth) -> bool:
    """Too few answers came to say that it is ready, or that it is not."""
    checks = due_checks(health, found)
    return not is_ready(health, found) and found.of(checks[0][0]).well is None


def must_restart(health: Health, found: AttemptHealth) -> str:
    """Why the attempt has to be stopped and started again; empty if it need not."""
    for kind, check in ((CheckKind.STARTUP, health.startup), (CheckKind.LIVENESS, health.liveness)):
        state = found.of(kind)
        if check is not None and state.well is False:
            return f"its {kind} check failed {state.bad} times in a row: {state.said}"
    return ""


def trouble_in(health: Health, found: AttemptHealth) -> str:
    """Why it is not ready, in words; empty if it is."""
    if is_ready(health, found):
        return ""
    kind, _ = due_checks(health, found)[0]
    said = found.of(kind).said
    return f"{kind} check: {said}" if said else f"waits for its {kind} check"
