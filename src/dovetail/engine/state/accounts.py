"""What queues, users and tenants hold, and how much more they may take.

Charges are collected and entered into the usage table when it is read: many placements become one entry. With a
half-life the time of each charge matters, so then charges are entered at once.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.cluster.state import Cluster
from dovetail.engine.state.memory import Remembered
from dovetail.engine.state.work import Work
from dovetail.queueing.quota import Quotas
from dovetail.queueing.settings import FairSettings
from dovetail.queueing.tree import QueueTree
from dovetail.queueing.usage import PastUsage, Usage

_MAX_DEFERRED = 1000


class Accounts:
    def __init__(self, cluster: Cluster, tree: QueueTree, fair: FairSettings) -> None:
        self._cluster = cluster
        self.without_deferred = Usage(tree, {}, fair)  # the usage table without the deferred charges
        self._quotas = Quotas(tree, self.without_deferred)
        #: By queue: does a limit apply to it?
        self.limited = [any(tree[c].maximum or tree[c].user_limits for c in queue.lineage) for queue in tree.queues]
        self._charges: dict[tuple[int, str | None, str, tuple[tuple[str, int], ...]], int] = {}
        self._capacity_as_of = -1

    def charge(self, work: Work, times: int, now: float) -> None:
        """`times` more (negative: fewer) tasks of the workload hold a node."""
        terms = work.terms
        account = (work.queue, terms.user, terms.tenant, terms.shape.amounts)
        self._charges[account] = self._charges.get(account, 0) + times
        if self.without_deferred.half_life_s is not None or len(self._charges) > _MAX_DEFERRED:
            self.settle(now)

    @property
    def usage(self) -> Usage:
        self.settle()
        return self.without_deferred

    @property
    def quotas(self) -> Quotas:
        self.settle()
        return self._quotas

    def settle(self, now: float = 0.0) -> None:
        """Enter the collected charges. `now` matters only with a half-life, and then nothing was deferred."""
        if self._charges:
            for (queue, user, tenant, amounts), times in self._charges.items():
                if times:
                    self.without_deferred.charge(queue, user, tenant, dict(amounts), times, now)
            self._charges.clear()

    def refresh_capacity(self) -> None:
        """Shares refer to the capacity of present nodes. Call this before deciding; cheap while no node changed."""
        cluster = self._cluster
        if self._capacity_as_of != cluster.generation:
            self._capacity_as_of = cluster.generation
            n = cluster.width
            totals = cluster.resources.schedulable[:, :n][:, cluster.status.present[:n]].sum(axis=1)
            self.without_deferred.set_capacity(dict(zip(cluster.resources.names, totals.tolist(), strict=True)))

    @contextmanager
    def capacity_restored(self) -> Iterator[None]:
        """For a question: `refresh_capacity` inside is undone."""
        as_of = self._capacity_as_of
        try:
            with self.without_deferred.capacity_restored():
                yield
        finally:
            self._capacity_as_of = as_of

    def parts(self) -> Iterator[Remembered]:
        yield Remembered("usage", self._write, self._read)

    def _write(self, now: float) -> str | None:
        past = self.usage.history(now)
        return json.dumps(past) if past else None

    def _read(self, text: str) -> None:
        self.usage.recall([PastUsage(*past) for past in json.loads(text)])
