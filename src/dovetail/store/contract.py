"""What a store promises: one transaction a `write`, durable when it returns; reads see whole transactions.

Methods block; the control loop calls them on threads. One writer, many readers.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from dovetail.model.record import Batch, Snapshot


class StoreError(Exception):
    """The store cannot be used: says what is wrong, where, and what to do."""


@dataclass(frozen=True, slots=True)
class WorkloadFilter:
    namespace: str | None = None
    state: str | None = None
    user: str | None = None
    service: str | None = None
    priority: str | None = None
    name_contains: str | None = None
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Rows newest first; `cursor` continues after them, None when there are no more."""

    items: list[dict[str, Any]]
    cursor: str | None


class Store(Protocol):
    def open(self) -> None:
        """Create or migrate the schema. Raises StoreError for a locked, read-only, damaged or newer database."""
        ...

    def restore(self) -> Snapshot: ...

    def write(self, batch: Batch) -> None: ...

    def workload(self, workload_id: int) -> dict[str, Any] | None:
        """Row of the workload: all columns of NewWorkload and WorkloadRecord, `spec` already parsed."""
        ...

    def find_workload(self, namespace: str, name: str) -> dict[str, Any] | None:
        """The newest workload of that name."""
        ...

    def workloads(self, where: WorkloadFilter, limit: int, cursor: str | None) -> Page: ...

    def spec_json(self, workload_id: int) -> str | None: ...

    def tasks(self, workload_id: int, limit: int = 1000, offset: int = 0) -> list[dict[str, Any]]: ...

    def node_tasks(self, node: str) -> list[dict[str, Any]]:
        """Unfinished tasks that hold capacity on the node, with namespace and name of their workload."""
        ...

    def decisions(self, workload_id: int, limit: int = 20) -> list[dict[str, Any]]:
        """Newest first, `explanation` already parsed."""
        ...

    def history(
        self, workload_id: int | None = None, node: str | None = None, after: int = 0, limit: int = 100
    ) -> list[dict[str, Any]]:
        """Oldest first, each with its `seq`."""
        ...

    def idempotent_response(self, key: str) -> str | None: ...

    def counts(self) -> dict[str, int]:
        """Workloads by state."""
        ...

    def prune(self, finished_before: float, history_before: float) -> int:
        """Forget finished workloads and old history; returns how many rows went."""
        ...

    def close(self) -> None: ...
