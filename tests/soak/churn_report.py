"""What became of a soak, in figures and in words, and whether it is good."""

from dataclasses import asdict, dataclass, field
from typing import Any

from tests.soak.memory import MOST_GROWTH_MB_PER_HOUR, Sample, growth_mb_per_hour

_NAMED = 20


@dataclass
class Report:
    """`drift`: differences from the API that lasted, in words, and pods that waited though they could go somewhere."""

    seed: int
    seconds: float = 0.0
    created: int = 0
    bound: int = 0
    restarts: int = 0
    compactions: int = 0
    interruptions: int = 0  # of watches
    relists: int = 0
    rests: int = 0
    audits: int = 0
    calls_failed: int = 0
    drift: list[str] = field(default_factory=list)
    memory: list[Sample] = field(default_factory=list)

    @property
    def growth_mb_per_hour(self) -> float:
        return growth_mb_per_hour(self.memory)

    @property
    def flat(self) -> bool:
        return self.growth_mb_per_hour <= MOST_GROWTH_MB_PER_HOUR

    def to_dict(self) -> dict[str, Any]:
        judged = {"growth_mb_per_hour": self.growth_mb_per_hour, "most_growth_mb_per_hour": MOST_GROWTH_MB_PER_HOUR}
        return asdict(self) | judged | {"flat": self.flat}

    def __str__(self) -> str:
        rate, last = self.created / max(self.seconds, 1.0), self.memory[-1].mb if self.memory else 0.0
        growth = f"{self.growth_mb_per_hour:.1f} MB an hour (at most {MOST_GROWTH_MB_PER_HOUR:.0f})"
        lines = [
            f"{self.seconds:.0f} s, seed {self.seed}: {self.created:,} pods made ({rate:.0f}/s), {self.bound:,} bound",
            f"{self.restarts} restarts of the API server, {self.compactions} of them with etcd compacted",
            f"watches were interrupted {self.interruptions} times, and {self.relists} times everything was listed anew",
            f"drift: {len(self.drift)} differences at {self.rests} rests and {self.audits} audits",
            f"memory: {last:.0f} MB at the end, grows by {growth}",
        ]
        return "\n".join([*lines, *self.drift[:_NAMED]])
