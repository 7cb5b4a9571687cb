"""What a client knows about its own work: what it sent, and what the server told it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How work ends if nobody disturbs it."""

    SUCCEEDS = "succeeds"
    OVERRUNS = "overruns"  # it is stopped at its time limit
    CANCELLED = "cancelled"  # the client cancels it; it would run for a minute
    NEVER_FITS = "never fits"  # it gives up waiting for a node


@dataclass(frozen=True, slots=True)
class SentWorkload:
    """`fails_first`: its first attempt fails by itself, and it is retried unless it was cancelled meanwhile."""

    name: str
    outcome: Outcome
    fails_first: bool = False


@dataclass(frozen=True, slots=True)
class SeenEnd:
    state: str
    at: float


@dataclass(slots=True)
class ClientRecord:
    """Times are those at which an answer had arrived. Everything is by id, except what was `sent`: by name."""

    sent: dict[str, SentWorkload] = field(default_factory=dict)
    acknowledged: dict[int, str] = field(default_factory=dict)
    cancel_sent: set[int] = field(default_factory=set)
    cancelled_at: dict[int, float] = field(default_factory=dict)
    seen_ended: dict[int, SeenEnd] = field(default_factory=dict)
    wrong_answers: list[str] = field(default_factory=list)

    def accepted(self, answer: list[Any]) -> None:
        """The same answer may come again, another one may not."""
        for row in answer:
            if row["name"] not in self.sent:
                self.wrong_answers.append(f"{row['name']} was accepted and never sent")
            if self.acknowledged.setdefault(row["id"], row["name"]) != row["name"]:
                words = f"{self.acknowledged[row['id']]} and {row['name']}"
                self.wrong_answers.append(f"workload {row['id']} was given to two submissions: {words}")

    def saw(self, row: Any, at: float) -> None:
        if row["finished_at"] is not None:
            self.seen_ended.setdefault(row["id"], SeenEnd(row["state"], at))
