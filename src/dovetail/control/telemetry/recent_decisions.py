"""The latest decisions of the whole cluster, newest first, in bounded memory.

Tasks of one workload that were decided alike in one turn are one entry: a gang of 512 tasks is one line, not the whole
list. Written with each durable step, on the thread of the control loop, and read there.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from dovetail.model.record import Decision

KEPT = 500
MOST_NODES = 8


class DecidedName(NamedTuple):
    namespace: str
    name: str


@dataclass(slots=True)
class DecisionEntry:
    """`decision` is the latest of `tasks` alike; `nodes` are different ones, the first few. `name` is None for work
    that had ended when it was written down."""

    decision: Decision
    name: DecidedName | None
    tasks: int = 1
    nodes: list[str] = field(default_factory=list)

    @property
    def workload(self) -> int:
        return self.decision.task.workload


class DecisionRing:
    def __init__(self) -> None:
        self._entries: deque[DecisionEntry] = deque(maxlen=KEPT)

    def take(self, decisions: Sequence[Decision], name_of: Callable[[int], DecidedName | None]) -> None:
        """Those of one step, in order. Of very many only the last are looked at."""
        last: DecisionEntry | None = None
        for decision in decisions[-KEPT * MOST_NODES :]:
            if last is None or not _alike(last.decision, decision):
                last = DecisionEntry(decision, name_of(decision.task.workload), 0)
                self._entries.append(last)
            last.decision = decision
            last.tasks += 1
            node = decision.node
            if node is not None and len(last.nodes) < MOST_NODES and node not in last.nodes:
                last.nodes.append(node)

    def newest(self, limit: int) -> list[DecisionEntry]:
        return list(islice(reversed(self._entries), limit))


def _alike(one: Decision, other: Decision) -> bool:
    same = one.task.workload == other.task.workload and one.at == other.at
    return same and one.explanation.outcome == other.explanation.outcome and (one.node is None) == (other.node is None)
