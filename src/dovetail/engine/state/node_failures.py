"""Failed placements of one node: which workloads failed there, how often and with which words."""

from dataclasses import dataclass, field, replace


@dataclass(slots=True)
class FailingWorkload:
    """`certain`: how many of its failures the backend puts down to the node."""

    name: str
    owner: str
    times: int = 0
    certain: int = 0
    last_at: float = 0.0
    reason: str = ""


@dataclass(slots=True)
class NodeFailures:
    """Since a task last started there, and within the window. `until` None: the node is not in quarantine."""

    failing: dict[int, FailingWorkload] = field(default_factory=dict)
    quarantines: int = 0
    since: float = 0.0
    until: float | None = None
    on_probation: bool = False  # after a quarantine, until a task starts there

    @property
    def times(self) -> int:
        return sum(one.times for one in self.failing.values())

    @property
    def certain(self) -> int:
        return sum(one.certain for one in self.failing.values())

    @property
    def owners(self) -> int:
        return len({one.owner for one in self.failing.values()})

    def latest(self) -> list[FailingWorkload]:
        """Copies, the latest first."""
        return [replace(one) for one in sorted(self.failing.values(), key=lambda one: -one.last_at)]

    def forget_before(self, moment: float) -> None:
        for id_ in [id_ for id_, one in self.failing.items() if one.last_at < moment]:
            del self.failing[id_]
