"""What queues, users and tenants hold, and how much more they may take.

Charges are collected and entered into the usage table when somebody asks for it: many placements become one entry. With
a half-life the moment of each charge counts, so then nothing is put off.
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
from dovetail.queueing.usage import Past, Usage

_MOST_PUT_OFF = 1000


class Accounts:
    def __init__(self, cluster: Cluster, tree: QueueTree, fair: FairSettings) -> None:
        self._cluster = cluster
        self.put_off = Usage(tree, {}, fair)  # without the charges that are not entered yet
        self._quotas = Quotas(tree, self.put_off)
        #: By queue: does a limit apply to it?
        self.limited = [any(tree[c].maximum or tree[c].user_limits for c in queue.lineage) for queue in tree.queues]
        self._charges: dict[tuple[int, str | None, str, tuple[tuple[str, int], ...]], int] = {}
        self._capacity_as_of = -1

    def charge(self, work: Work, times: int, now: float) -> None:
        """So many more (or fewer) tasks of the workload hold a node."""
        terms = work.terms
        account = (work.queue, terms.user, terms.tenant, terms.shape.amounts)
        self._charges[account] = self._charges.get(account, 0) + times
        if self.put_off.half_life_s is not None or len(self._charges) > _MOST_PUT_OFF:
            self.settle(now)

    @property
    def usage(self) -> Usage:
        self.settle()
        return self.put_off

    @property
    def quotas(self) -> Quotas:
        self.settle()
        return self._quotas

    def settle(self, now: float = 0.0) -> None:
        """Enter the collected charges. The moment counts only with a half-life, and then nothing was put off."""
        if self._charges:
            for (queue, user, tenant, amounts), times in self._charges.items():
                if times:
                    self.put_off.charge(queue, user, tenant, dict(amounts), times, now)
            self._charges.clear()

    def refresh_capacity(self) -> None:
        """Shares are of what present nodes have. Called before deciding; cheap while no node changed."""
        cluster = self._cluster
        if self._capacity_as_of != cluster.generation:
            self._capacity_as_of = cluster.generation
            n = cluster.width
            totals = cluster.resources.schedulable[:, :n][:, cluster.present[:n]].sum(axis=1)
            self.put_off.set_capacity(dict(zip(cluster.resources.names, totals.tolist(), strict=True)))

    @contextmanager
    def capacity_restored(self) -> Iterator[None]:
        """For a question: `refresh_capacity` inside is undone."""
        as_of = self._capacity_as_of
        try:
            with self.put_off.capacity_restored():
                yield
        finally:
            self._capacity_as_of = as_of

    def parts(self) -> Iterator[Remembered]:
        yield Remembered("usage", self._write, self._read)

    def _write(self, now: float) -> str | None:
        past = self.usage.history(now)
        return json.dumps(past) if past else None

    def _read(self, text: str) -> None:
        self.usage.recall([Past(*past) for past in json.loads(text)])
