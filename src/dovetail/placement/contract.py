"""What a plugin is. Filters and scores are array functions: one answer a node, no loop over nodes in Python.

Each names the column groups it reads (`cluster.state.GROUPS`), so that its answer can be cached for a shape and
mended only for the rows that changed. A plugin's typed settings are validated once, when its profile is built.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.text.strict import Strict
from dovetail.placement.fragmentation.outlook import Outlook


class NoSettings(Strict):
    """For plugins without settings."""


@dataclass(slots=True)
class PromisedRoom:
    """What promises to others leave of some rows, for as long as the task would run."""

    rows: Rows
    room: F8  # float64[resource, row]
    whose: Sequence[str] | npt.NDArray[Any]  # for each row, who was promised, in words

    def without(self, row: int, column: F8) -> "PromisedRoom":
        """What is left when the column was taken on a row."""
        room = self.room.copy()
        room[: len(column), self.rows == row] -= column[:, None]
        return PromisedRoom(self.rows, room, self.whose)


@dataclass(slots=True)
class Request:
    """One shape, ready to be evaluated against one cluster."""

    shape: Shape
    column: F8  # float64[resource]: what placing one task takes
    needs: dict[str, float]
    scope: tuple[tuple[str, str], ...] = ()  # labels every node of the scheduler must have
    siblings: tuple[int, int] | None = None  # the task's workload and its replicas; only where a score is not local
    promised: PromisedRoom | None = None
    identity: TaskIdentity | None = None  # of the task's workload; only where other work matters to it
    repelled: tuple[AffinityRule, ...] = ()  # rules of placed tasks that keep it away from them
    heard: tuple[tuple[str, int], ...] = ()  # who of the placed work talks to it, and how much in Mbps
    among: B1 | None = None  # bool[node of the whole cluster]: no others are looked at
    outlook: Outlook | None = None  # what usually comes, and what is scarce for it; it changes as work comes
    non_local: bool = False  # its nodes cannot be judged by their own rows alone: nothing of a decision is kept


class Filter(Protocol):
    """Which nodes may take the task.

    A plugin that reads less for some requests than `reads` says may have `reads_of(request)`; the same goes for scores.
    """

    name: ClassVar[str]
    reason: ClassVar[str]
    reads: ClassVar[frozenset[str]]
    Settings: ClassVar[type[Strict]]

    def mask(self, request: Request, view: View) -> B1 | bool:
        """True where the node may take the task; a plain bool when the answer is the same for all nodes."""
        ...

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        """Why the node at this position of the view may not; called only where `mask` said no."""
        ...


class Score(Protocol):
    """How good each node is: in [0, 1] unless the plugin says otherwise, more is better.

    A node's points depend on its own row alone, or the plugin says `local = False`: then nothing is kept for a shape.
    A built-in score that goes by the outlook as well has `epoch(request)`, a number that changes when its points do for
    that reason. One that cannot tell how a node would be with more copies says `looks_ahead = False`. One that cares
    which GPUs of its node a task gets has `devices(request, view)`: the slots on the only node of the view, or None.
    """

    name: ClassVar[str]
    reads: ClassVar[frozenset[str]]
    Settings: ClassVar[type[Strict]]

    def points(self, request: Request, view: View) -> F8 | float:
        """One number a node; a plain float when it is the same for all nodes."""
        ...


class Hook(Protocol):
    """Told after the fact; runs outside the engine, may do I/O, cannot change the decision."""

    name: ClassVar[str]
    Settings: ClassVar[type[Strict]]

    def on_scheduled(self, task: str, workload: str, node: str, explanation: dict[str, Any]) -> None: ...
