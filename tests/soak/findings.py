"""What a soak found: by part, how much was tried, what failed, and how to see it fail again."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

_SHOWN_LINES = 30


@dataclass(frozen=True)
class Finding:
    """`where`: a test, or what was compared. `says`: the end of its message."""

    where: str
    seed: int
    says: str


@dataclass
class Part:
    """One part of a soak. `not_run` says why, where it could not; `figures` are what only this part counts."""

    name: str
    seed: int
    seconds: float = 0.0
    rounds: int = 0
    tests: int = 0
    findings: list[Finding] = field(default_factory=list)
    not_run: str = ""
    figures: dict[str, Any] = field(default_factory=dict)


@dataclass
class SoakReport:
    seed: int
    minutes: float
    parts: list[Part] = field(default_factory=list)

    @property
    def findings(self) -> int:
        return sum(len(part.findings) for part in self.parts)

    @property
    def exit_status(self) -> int:
        """0: nothing was found. 1: something was. 2: nothing could be run."""
        if self.findings:
            return 1
        return 2 if all(part.not_run for part in self.parts) else 0

    def to_dict(self) -> dict[str, Any]:
        return {"findings": self.findings} | asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        yield f"{'part':<20} {'minutes':>8} {'rounds':>7} {'tests':>7} {'findings':>9}"
        for part in self.parts:
            if part.not_run:
                yield f"{part.name:<20} not run: {part.not_run}"
                continue
            minutes = f"{part.seconds / 60:.1f}"
            yield f"{part.name:<20} {minutes:>8} {part.rounds:>7} {part.tests:>7} {len(part.findings):>9}"
        for part in self.parts:
            for finding in part.findings:
                yield ""
                yield f"{part.name}: {finding.where}"
                yield f'  again: make soak ARGS="--only {part.name} --seed {finding.seed}"'
                yield from (f"  {line}" for line in finding.says.splitlines()[-_SHOWN_LINES:])
