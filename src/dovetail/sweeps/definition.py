"""A sweep file: what to simulate, and what to vary.

    source:   {scenario: day.yaml}
    profiles: [balanced, gpu_packing]
    weights:  {balanced: {load_balance: [0, 30, 60]}}
    grid:     {stream.rate: [0.01, 0.02]}
    seeds:    5

Every combination is a case. A snapshot (`source: {snapshot: cluster.json}`) has no grid. A batch log
(`source: {swf: log.swf.gz}`) is varied by `policies` and `backfill` instead of profiles. Everything is checked when it
is read, each combination too; what is wrong is said with its line.
Left to others: reading files, and running the cases (`execution`).
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dovetail.model.text.document import Document
from dovetail.model.text.quantity import Count
from dovetail.model.text.reading import check_documents, only_document
from dovetail.model.text.strict import AtField, Name, Strict, closest
from dovetail.placement.pipeline.profiles import Weight
from dovetail.simulate.policies import BACKFILLS, DEFAULT_POLICIES, POLICIES, Backfill

MOST_SEEDS = 1000
MOST_VALUES = 1000
MOST_CASES = 100_000
SEEDS = 5

Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Values = Annotated[list[Any], Field(min_length=1, max_length=MOST_VALUES)]


class SweepSourceFile(Strict):
    """What is simulated: one of them. File names are relative to the sweep file."""

    scenario: str | None = None
    """A scenario file, as `dovetail simulate` plays it."""
    snapshot: str | None = None
    """A snapshot of a cluster, as `dovetail snapshot` writes it: it goes on from there."""
    swf: str | None = None
    """A batch log of the Standard Workload Format."""
    sequences: Count = 1
    """Of a batch log: how many sequences of jobs each case plays."""
    length: Count = 1024
    """Of a batch log: the jobs in each of them."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(one is not None for one in (self.scenario, self.snapshot, self.swf)) != 1:
            raise ValueError("names no file, or several; give one of scenario: FILE, snapshot: FILE and swf: FILE")
        return self


class Sweep(Strict):
    source: SweepSourceFile
    profiles: list[Name] = Field(default=[], max_length=MOST_VALUES)
    """The profiles to compare; left out: that of the scenario."""
    weights: dict[Name, dict[str, Annotated[list[Weight], Field(min_length=1, max_length=MOST_VALUES)]]] = {}
    """By profile and score: the weights to try."""
    policies: list[str] = Field(default=[], max_length=MOST_VALUES)
    """Of a batch log: who goes next."""
    backfill: list[Backfill] = Field(default=[], max_length=len(BACKFILLS))
    """Of a batch log: the kinds of backfill to compare."""
    grid: dict[str, Values] = {}
    """By field of the scenario, such as `stream.rate`: the values to try."""
    seeds: (
        Annotated[int, Field(ge=1, le=MOST_SEEDS)] | Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)]
    ) = SEEDS
    """How many seeds, counted from that of the source, or which."""

    @model_validator(mode="after")
    def _fits_its_source(self) -> Self:
        if self.source.swf is not None:
            wrong = {"profiles": self.profiles, "weights": self.weights, "grid": self.grid}
            advice = "is for scenarios; a batch log has policies: [...] and backfill: [...]"
        else:
            wrong = {"policies": self.policies, "backfill": self.backfill}
            advice = "is for batch logs; a scenario has profiles: [...], weights: {...} and grid: {...}"
        if self.source.snapshot is not None and self.grid:
            raise AtField(("grid",), "is for scenarios; a snapshot has profiles: [...] and weights: {...}")
        for name, given in wrong.items():
            if given:
                raise AtField((name,), advice)
        for index, policy in enumerate(self.policies):
            if policy not in POLICIES:
                words = f"unknown policy {policy!r}.{closest(policy, POLICIES)} Known: {', '.join(POLICIES)}"
                raise AtField(("policies", index), words)
        for profile in self.weights:
            if self.profiles and profile not in self.profiles:
                raise AtField(("weights", profile), f"is not among the profiles: {', '.join(self.profiles)}")
        return self

    def seed_list(self, first: int) -> Sequence[int]:
        found = range(first, first + self.seeds) if isinstance(self.seeds, int) else self.seeds
        return list(dict.fromkeys(found))

    def batch_policies(self) -> list[str]:
        return list(dict.fromkeys(self.policies or DEFAULT_POLICIES))

    def batch_backfills(self) -> list[Backfill]:
        return list(dict.fromkeys(self.backfill)) or ["easy"]


def read_sweep(text: str | bytes, source: str) -> tuple[Sweep, Document]:
    """The sweep, and where its lines are. Raises Invalid with everything that is wrong."""
    document = only_document(text, source)
    return check_documents(Sweep, [document])[0], document
