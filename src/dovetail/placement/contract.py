"""The contract of plugins: the base classes of filters and scores, and what they get and give.

Filters and scores are array functions: one answer for each node of a view, without a Python loop over nodes. A plugin
derives from `Filter` or `Score` and overrides what differs from the defaults. The defaults are the safe ones: a plugin
that declares nothing is asked again after every change, is tried again after every event, and no task is evicted for
it. A plugin's typed settings are validated once, when its profile is built.

Guarantees: everything that the engine knows of a plugin is declared in these classes; nothing is looked up by name.
Left to others: running the plugins and containing their failures (`evaluation`), finding them (`registry`).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.change_log import GROUPS
from dovetail.cluster.devices import Slots
from dovetail.cluster.selector_counts import Counted
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused, Shortage
from dovetail.model.requests.asks import AffinityRule
from dovetail.model.requests.pod_ask import PodAsk
from dovetail.model.requests.shape import Shape
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.text.strict import Strict
from dovetail.placement.fragmentation.outlook import Outlook


class NoSettings(Strict):
    """For plugins without settings."""


@dataclass(slots=True)
class PromisedCapacity:
    """What promises to others leave of some rows, for as long as the task would run."""

    rows: Rows
    room: F8  # float64[resource, row]
    owners: Sequence[str] | npt.NDArray[Any]  # for each row, the owner of the promise, in words

    def without(self, row: int, column: F8) -> "PromisedCapacity":
        """What is left after the column was taken on a row."""
        room = self.room.copy()
        room[: len(column), self.rows == row] -= column[:, None]
        return PromisedCapacity(self.rows, room, self.owners)


@dataclass(slots=True)
class TooDear:
    """What work that waits for cheaper nodes refuses now. Arrays have one entry a node of the whole cluster."""

    refused: B1
    late: B1  # of those, where it would end after its deadline
    cost: F8  # of the task on each node
    fallback: int | None  # the row where it goes when it has waited long enough; None: it does not wait
    until: float  # when that is, or when the answer may change otherwise


@dataclass(slots=True)
class Request:
    """One shape, ready to be evaluated against one cluster."""

    shape: Shape
    column: F8  # float64[resource]: what one task takes
    needs: dict[str, float]
    scope: tuple[tuple[str, str], ...] = ()  # labels every node of the scheduler must have
    siblings: tuple[int, int] | None = None  # the task's workload and its replicas; only where a score is not local
    promised: PromisedCapacity | None = None
    identity: TaskIdentity | None = None  # identity of the task; only where other work matters to it
    repelled: tuple[AffinityRule, ...] = ()  # rules of placed tasks that keep it away from them
    senders: tuple[tuple[str, int], ...] = ()  # placed workloads that send to it, and how much in Mbps
    too_dear: TooDear | None = None  # only of work that prefers low prices and has a deadline
    among: B1 | None = None  # bool[node of the whole cluster]: only these nodes are considered
    outlook: Outlook | None = None  # the expected workload mix, and what is scarce for it; it changes as work comes
    non_local: bool = False  # a node's own row does not decide: nothing of a decision is cached

    @property
    def pod(self) -> PodAsk:
        """What only Kubernetes has, for filters that apply to pods alone."""
        assert self.shape.kubernetes is not None
        return self.shape.kubernetes


# --- what plugins declare --------------------------------------------------------------------------------------


class FilterStage(IntEnum):
    """When a filter runs. In one stage, built-in eligibility filters run before those of other packages, and built-in
    capacity filters after them, so that the funnel ends with "is there enough free"."""

    ELIGIBILITY = 0  # may the node run the task at all
    CAPACITY = 1  # is there room now: preemption looks at nodes that only filters of this stage refuse


class EvictionHelps(Enum):
    """Could a filter accept a node after tasks left it?"""

    NEVER = "never"
    BY_AMOUNTS = "by amounts"  # once enough is free: the search for victims adds up what they free
    BY_TRIAL = "by trial"  # perhaps: the search removes tasks in a trial and asks again
    WITH_OTHERS = "with others"  # not for its own sake, only on nodes that another of these filters refuses too


class CopyEffect(Enum):
    """How does one more placed copy of a task change a filter's answer for the next copy?"""

    BY_READS = "by reads"  # in unknown ways, if the filter reads a column group that placing a task changes
    BY_AMOUNTS = "by amounts"  # only by what the copy takes, which `engine.headroom` counts
    BY_RULES = "by rules"  # only by rules of the shape about its own gang, which `engine.gang_layout` follows


class Concern(Enum):
    """Whose concern a refusal is. Suggestions treat each differently."""

    WORKLOAD = "workload"  # what the workload requires: named in the core of requirements that no node meets
    SCHEDULER = "scheduler"  # which nodes the scheduler considers: nodes that it refuses are left out
    MOMENT = "moment"  # how things are at the moment: not a requirement that anyone could change


@dataclass(frozen=True, slots=True)
class WakeSignals:
    """What can make a filter accept a node that it refused, beside a change of that node itself: a task left it, it
    joined or returned, its definition or its measured use changed."""

    counted: tuple[Counted, ...] = ()  # selectors: the number of tasks that they select changed, on any node
    levels: frozenset[str] = frozenset()  # something changed in the node's domain at one of these levels
    anything: bool = False  # any event, on any node

    def __or__(self, other: "WakeSignals") -> "WakeSignals":
        if not self or not other:
            return self or other
        counted = dict.fromkeys((*self.counted, *other.counted))
        return WakeSignals(tuple(counted), self.levels | other.levels, self.anything or other.anything)

    def __bool__(self) -> bool:
        return bool(self.counted or self.levels or self.anything)


OWN_NODE = WakeSignals()
ANYTHING = WakeSignals(anything=True)


class GroupRefusal(NamedTuple):
    """Some nodes of a view, what holds of all of them, and whether eviction could help there."""

    positions: Rows
    message: str
    eviction: Eviction = Eviction.NEVER

    @property
    def helps(self) -> bool:
        return self.eviction is Eviction.HELPS


class RefusalSummary(NamedTuple):
    """Why no node passed one filter: the outcome that the task is filed under, and a sentence."""

    outcome: str
    message: str
    eviction: Eviction = Eviction.NEVER
    shortages: tuple[Shortage, ...] = ()


def count_nodes(number: int) -> str:
    """`1 node`, `2 nodes`"""
    return f"{number} node" if number == 1 else f"{number} nodes"


def in_turn(rules: Iterator[tuple[str, B1 | bool, Eviction]], positions: Rows) -> Iterator[GroupRefusal]:
    """Group nodes by the first of several rules (message, where it is kept, eviction) that they break."""
    left = positions
    for message, answer, eviction in rules:
        kept: B1 = np.full(len(left), answer) if isinstance(answer, bool) else answer[left]
        if not kept.all():
            yield GroupRefusal(left[~kept], message, eviction)
            left = left[kept]
    if len(left):
        yield GroupRefusal(left, "refused")


# --- plugins ---------------------------------------------------------------------------------------------------


class PlacementPlugin(ABC):
    """What filters and scores have in common."""

    name: ClassVar[str]
    #: Column groups that the answer depends on. An answer is cached for a shape, and computed again for rows that
    #: changed in one of these groups.
    reads: ClassVar[frozenset[str]] = frozenset(GROUPS)
    #: Validated settings, the only argument of the constructor. With `NoSettings` the constructor takes none.
    Settings: ClassVar[type[Strict]] = NoSettings
    #: Does the answer for a node depend on that node's row alone? If not, nothing is cached under the profile.
    local: ClassVar[bool] = True
    #: Can it answer for a node as it would be with more copies of the task (`View.after`)?
    looks_ahead: ClassVar[bool] = True
    #: Does it read `request.shape.image`? Shapes carry an image only under profiles with such a plugin.
    sees_image: ClassVar[bool] = False

    def reads_of(self, request: Request) -> frozenset[str]:  # noqa: ARG002 (for overriding)
        """The column groups that it reads for this request, where that is fewer than `reads`."""
        return self.reads


class Filter(PlacementPlugin):
    """Decides which nodes may take the task."""

    #: The outcome that a refused task is filed under.
    reason: ClassVar[str]
    stage: ClassVar[FilterStage] = FilterStage.ELIGIBILITY
    eviction_helps: ClassVar[EvictionHelps] = EvictionHelps.NEVER
    #: May it refuse a node that has enough of every amount? There the search by amounts would find no victims.
    amounts_mislead: ClassVar[bool] = False
    copy_effect: ClassVar[CopyEffect] = CopyEffect.BY_READS
    concern: ClassVar[Concern] = Concern.WORKLOAD
    #: What can make it accept a node that it refused. A task that waits is tried again on these signals only.
    wakes_on: ClassVar[WakeSignals] = ANYTHING

    #: Fields of the request that it looks at, if beside them only labels, taints and status of nodes decide: then the
    #: answer is cached until one of those changes. None: it looks at more, and is asked every time.
    decided_by: ClassVar[tuple[str, ...] | None] = None

    def applies(self, request: Request) -> bool:  # noqa: ARG002 (for overriding)
        """Does the request ask for anything that this filter decides on? Otherwise it is skipped and accepts all."""
        return True

    @abstractmethod
    def mask(self, request: Request, view: View) -> B1 | bool:
        """True where the node may take the task; a plain bool when the answer is the same for all nodes."""

    @abstractmethod
    def refuse(self, request: Request, view: View, position: int) -> Refused:
        """Why the node at this position of the view may not; called only where `mask` said no."""

    def wake_signals(self, request: Request) -> WakeSignals:  # noqa: ARG002 (for overriding)
        """What wakes a task with this request, where that depends on what it asks for."""
        return self.wakes_on

    def requirement(self, request: Request) -> str:  # noqa: ARG002 (for overriding)
        """What it requires, in words, for suggestions: `fewer than 20 tasks on the node`."""
        return f"a node that filter {self.name} accepts"

    def refuse_many(self, request: Request, view: View, positions: Rows) -> Iterator[GroupRefusal]:
        """Why several nodes may not, in few sentences; by default what holds of the first."""
        refused = self.refuse(request, view, int(positions[0]))
        yield GroupRefusal(positions, refused.message, refused.eviction)

    def summarise(self, request: Request, view: View, candidates: B1) -> RefusalSummary:
        """Why none of the candidates (bool[node of the view]) passes; by default with the first as an example."""
        position = int(np.flatnonzero(candidates)[0])
        refused = self.refuse(request, view, position)
        nodes = count_nodes(int(candidates.sum()))
        message = f"{refused.message}, such as on {view.name(position)}; {self.name} refuses all of {nodes}"
        return RefusalSummary(refused.reason, message, refused.eviction)


class Score(PlacementPlugin):
    """Rates nodes: in [0, 1] unless the plugin says otherwise, more is better."""

    #: Do the points depend on `request.outlook`? Then `epoch` says when they change for that reason.
    uses_outlook: ClassVar[bool] = False
    #: Does `devices` choose which GPUs of its node a task gets?
    chooses_devices: ClassVar[bool] = False

    @abstractmethod
    def points(self, request: Request, view: View) -> F8 | float:
        """One number a node; a plain float when it is the same for all nodes."""

    def epoch(self, request: Request) -> int:  # noqa: ARG002 (for overriding)
        """A number that differs whenever the points differ though no node changed."""
        return 0

    def devices(self, request: Request, view: View) -> Slots | None:  # noqa: ARG002 (for overriding)
        """The GPU slots for the task on the only node of the view; None: the device table chooses."""
        return None


class Hook(Protocol):
    """Called after a task was placed. Runs outside the engine, may do I/O, cannot change the decision."""

    name: ClassVar[str]
    Settings: ClassVar[type[Strict]]

    def on_scheduled(self, task: str, workload: str, node: str, explanation: dict[str, Any]) -> None: ...
