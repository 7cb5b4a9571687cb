"""What a store promises: one transaction a `write`, durable when it returns; reads see whole transactions.

Methods block; the control loop calls them on threads. One writer, many readers.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from dovetail.model.batch import Batch
from dovetail.model.cost_facts import CostFacts
from dovetail.model.record import BackendRecord, HistoryLine, Snapshot, TokenRecord


class StoreError(Exception):
    """The store cannot be used: says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class WorkloadFilter:
    """Every condition that is given must hold. `states`: one of these. `queue`: this one, and those below it."""

    namespace: str | None = None
    state: str | None = None
    user: str | None = None
    service: str | None = None
    priority: str | None = None
    name: str | None = None  # a part of it
    unfinished: bool = False
    queue: str | None = None
    states: tuple[str, ...] = ()


#: What a list of workloads can be sorted by; with `-` before it, the largest or latest first.
WORKLOAD_SORTS = ("name", "namespace", "queue", "submitted", "state", "wait", "priority")


class DecisionPlace(NamedTuple):
    """Where a decision stands in the list of decisions, newest first."""

    at: float
    workload: int
    replica: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in order; `cursor` continues after them, None when there are no more."""

    items: list[dict[str, Any]]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class ListSlice:
    """Some rows of a list, and how many it has."""

    items: list[dict[str, Any]]
    total: int


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Every condition that is given must hold. `namespace`: of the workload. `since`: seconds since the epoch."""

    workloads: Collection[int] | None = None
    replica: int | None = None
    namespace: str | None = None
    node: str | None = None
    backend: str | None = None
    kinds: Collection[str] = ()
    since: float | None = None


@dataclass(frozen=True, slots=True)
class UsageFilter:
    """Workloads that waited or ran at some time between `since` and `until`. `truncate`: what they used outside of
    that time is not counted. `queue`: this one, and those below it."""

    since: float = 0.0
    until: float = math.inf
    namespace: str | None = None
    user: str | None = None
    queue: str | None = None
    state: str | None = None
    name: str | None = None  # a part of it
    truncate: bool = False


@dataclass(frozen=True, slots=True)
class UsageTotals:
    """Of all workloads that a filter finds. `task_s`: seconds of running tasks, by the amounts that each asked for."""

    workloads: int
    attempts: int
    task_s: list[tuple[dict[str, int], float]]


class Store(Protocol):
    def open(self) -> None:
        """Create or migrate the schema. Raises StoreError for a locked, read-only, damaged or newer database."""

    def restore(self) -> Snapshot:
        """Unfinished workloads with all their tasks and notes, nodes, reservations, the last version of each policy,
        what was learned, open commands; ids that were never used."""

    def restore_later(self) -> Callable[[], Snapshot]:
        """What `restore` would return now, read when the answer is called, once, on any thread. Quick: it only fixes
        the view."""

    def write(self, batch: Batch, committing: Callable[[], object] | None = None) -> None:
        """All of it, durably, or StoreError and nothing of it. `committing` is called when all rows are handed to the
        database and only the commit is left, which mostly waits for the disk.

        Fresh tasks of a submitted workload need not be written (`unwritten`). A command that is done goes from the
        outbox before new ones come in; a decision replaces the earlier one about the same attempt; the first response
        under an idempotency key stands. A workload's note goes when it has finished.
        """

    def workload(self, workload_id: int) -> dict[str, Any] | None:
        """Row of the workload: all columns of NewWorkload and WorkloadRecord, `spec` parsed in place of `spec_json`."""

    def find_workload(self, namespace: str, name: str) -> dict[str, Any] | None:
        """The newest workload of that name."""

    def find_everywhere(self, name: str) -> list[dict[str, Any]]:
        """The newest workload of that name in each namespace, by namespace."""

    def namespaces(self) -> list[str]:
        """Those that have a workload, sorted."""

    def in_group(self, group: str, newest: int) -> list[dict[str, Any]]:
        """Workloads whose gang names this group, among the newest so many; oldest first."""

    def with_role(self, role: str) -> list[dict[str, Any]]:
        """Unfinished workloads that may be this role of a group: their names end in it."""

    def recent_names(self, limit: int) -> list[dict[str, Any]]:
        """`namespace` and `name` of the newest workloads, each pair once."""

    def workloads(
        self, where: WorkloadFilter, limit: int, cursor: str | None, sort: str = "", offset: int = 0, now: float = 0.0
    ) -> Page:
        """Rows as of `workload`, without `spec` and `shape_json`, newest first or by one of `WORKLOAD_SORTS`. `now`:
        how long those have waited that still wait. Raises ValueError for a cursor no page gave."""

    def workload_counts(self, where: WorkloadFilter) -> dict[str, int]:
        """By state, every state named: how many there are of it, whatever the filter says about states."""

    def spec_json(self, workload_id: int) -> str | None: ...

    def spec_jsons(self, workload_ids: Collection[int]) -> dict[int, str]:
        """Many at once; those that are not there are left out."""

    def tasks(self, workload_id: int, limit: int = 1000, offset: int = 0) -> list[dict[str, Any]]:
        """By replica, also those without a row (`unwritten`). Empty for an unknown workload."""

    def unusual_tasks(self, workload_id: int, limit: int, offset: int = 0, state: str | None = None) -> ListSlice:
        """Rows as of `tasks`, but failed ones first, then those that stop, were retried or start, and the successful
        ones last; newest first among equals. `state`: only those."""

    def attempts(
        self, workload_id: int, limit: int, offset: int = 0, replica: int | None = None, *, repeated: bool = False
    ) -> ListSlice:
        """Every attempt of its tasks, newest first, with its node and times; `ended_at` is None for one that goes on.
        One that migrated live is one row for each of its nodes. `repeated`: only of tasks that have several rows."""

    def first_placed(self, workload_id: int) -> float | None:
        """When the first of its tasks got a node."""

    def first_accepted(self, workload_id: int) -> float | None:
        """When a backend first accepted one of its tasks, or said that it runs; None where no history is left of it."""

    def run_spans(self, workload_ids: Collection[int]) -> dict[int, list[tuple[float, float | None]]]:
        """When tasks ran, from and until, None for now; only of those workloads that have had a repeated task."""

    def usage(self, where: UsageFilter, limit: int, cursor: str | None, now: float) -> Page:
        """Rows as of `workloads`, each with `amounts` (of one task), `attempts`, `exit_code` (the highest of its tasks)
        and `task_s`, the seconds that its tasks ran, added up. Raises ValueError for a cursor no page gave."""

    def usage_totals(self, where: UsageFilter, now: float) -> UsageTotals:
        """The same for all of them together."""

    def first_price(self) -> float | None:
        """Since when nodes have cost something; None if none ever did."""

    def cost_facts(self, since: float, until: float) -> CostFacts:
        """Prices of nodes between two moments, and who held those that cost something."""

    def events(
        self, where: EventFilter, limit: int, after: int = 0, before: int | None = None, *, newest_first: bool = False
    ) -> Page:
        """Lines of the history with `namespace` and `name` of the workload, where it is not forgotten. Only lines after
        and before these `seq`. The cursor is the `seq` of the last line, None if there are no more."""

    def node_tasks(self, node: str) -> list[dict[str, Any]]:
        """Unfinished tasks that hold capacity on the node, with namespace and name of their workload."""

    def decisions(
        self,
        workload_id: int | Collection[int],
        limit: int = 20,
        replica: int | None = None,
        before: DecisionPlace | None = None,
    ) -> list[dict[str, Any]]:
        """Newest first, `explanation` already parsed; of one task, if `replica` is given. `before`: only those that
        follow this one in that order."""

    def history(
        self,
        workload_id: int | Collection[int] | None = None,
        node: str | None = None,
        after: int = 0,
        limit: int = 100,
        backend: str | None = None,
        replica: int | None = None,
    ) -> list[dict[str, Any]]:
        """Oldest first, each with its `seq`. With `replica`, what is about another task is left out."""

    def newest_history_time(self) -> float | None:
        """When the newest line was written; None without any."""

    def newest_history(self) -> int:
        """The `seq` of the last line, 0 if there is none."""

    def policy_versions(self, name: str) -> list[dict[str, Any]]:
        """Every version of a policy, newest first, `definition` parsed; None where that version is its removal."""

    def backends(self) -> list[BackendRecord]:
        """Those that were added and not removed, by name."""

    def put_backend(self, record: BackendRecord, line: HistoryLine | None = None) -> None:
        """Durable when it returns; instead of the one of that name, if there is one. `line` comes into the history
        along with it, or neither does."""

    def remove_backend(self, name: str, line: HistoryLine | None = None) -> None:
        """Durable when it returns, with its line in the history, also when there was none."""

    def tokens(self) -> list[TokenRecord]:
        """Those of nodes and for joining, by id."""

    def put_token(self, record: TokenRecord, instead_of: Collection[str] = ()) -> None:
        """Durable when it returns; the tokens with these digests go along with it."""

    def remove_tokens(self, digests: Collection[str]) -> None:
        """Durable when it returns."""

    def idempotent_response(self, key: str) -> str | None: ...

    def counts(self) -> dict[str, int]:
        """Workloads by state, every state named."""

    def prune(self, finished_before: float, history_before: float) -> int:
        """Forget finished workloads, old history and old idempotency keys; returns how many rows went."""

    def prune_oldest(self) -> int:
        """Forget some of the oldest finished workloads and history, whatever their age; returns how many rows went."""

    def size_bytes(self) -> int:
        """What the records take, without space that deleted ones left."""

    def give_back_space(self) -> bool:
        """Give some of the space that deleted records left to the file system; False when there is none left."""

    def close(self) -> None: ...
