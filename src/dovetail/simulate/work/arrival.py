"""What readers of traces share: an arrival, the sizes of nodes that it has to fit, and errors with their line."""

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import shown
from dovetail.model.text.validation_errors import faults_in_words
from dovetail.model.workloads.workload import Workload

TimedWork = tuple[float, Workload]


@dataclass(frozen=True, slots=True)
class NodeSizes:
    """The largest node: what traces ask for as one number is divided into tasks that fit on it."""

    cpu: float = 0.0
    gpus: int = 0

    def tasks(self, amount: float, largest: float) -> tuple[int, float]:
        """How many tasks, and how much each asks for."""
        if not largest or amount <= largest:
            return 1, amount
        number = int(-(-amount // largest))
        return number, amount / number


def workload(source: str, line: int | None, fields: dict[str, Any]) -> Workload:
    """Raises Invalid with the line."""
    try:
        return Workload.model_validate(fields)
    except ValidationError as error:
        raise wrong(source, line, faults_in_words(error, Workload)) from None


def number(source: str, line: int | None, name: str, text: object, least: float = 0.0) -> float:
    """Raises Invalid unless it is a number of at least so much."""
    try:
        found = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise wrong(source, line, f"{name}: {shown(text)} is not a number") from None
    if not least <= found < 1e15:
        raise wrong(source, line, f"{name}: {shown(text)} is not a number from {least:g} to 1e15")
    return found


def wrong(source: str, line: int | None, message: str) -> Invalid:
    return Invalid([Complaint(source, line, "", message)])


def in_order(found: list[TimedWork], *, from_zero: bool = True) -> list[TimedWork]:
    """By time; the first one at 0."""
    first = min((at for at, _ in found), default=0.0) if from_zero else 0.0
    return sorted(((at - first, spec) for at, spec in found), key=lambda arrival: arrival[0])
