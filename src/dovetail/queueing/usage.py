"""Usage: what queues, users and tenants hold, and their shares of the cluster.

Guarantees: a charge counts for the queue and its ancestors; charging and releasing leaves only decayed history behind.
Shares are dominant shares: the largest over all resources. A tenant's weighted share is counted within its queue, since
queues share first and tenants second; `share_of_tenant` can count it over all queues.
Left to others: limits and loans (`quota`), order (`pending_queue`), when to charge.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import NamedTuple

from dovetail.queueing.account import Account, dominant
from dovetail.queueing.settings import FairSettings
from dovetail.queueing.tree import ROOT, QueueTree

Watcher = Callable[[int, str], None]
_SWEEP_FROM = 1024
_NEGLIGIBLE = 1e-9  # of the cluster


class PastUsage(NamedTuple):
    """A decayed average to persist: of a tenant in a queue; without a tenant, of the queue."""

    path: str
    tenant: str | None
    as_of: float
    average: dict[str, float]


class Held(NamedTuple):
    """What one task holds, and of whom."""

    queue: int
    user: str | None
    amounts: Mapping[str, int]


class Usage:
    """All accounts. `capacity` is the cluster's total of each resource, in smallest units."""

    def __init__(self, tree: QueueTree, capacity: Mapping[str, float], fair: FairSettings | None = None) -> None:
        self.tree = tree
        self.fair = fair or FairSettings()
        self.half_life_s = self.fair.half_life
        self.epoch = 0  # grows when all shares change at once
        self._inverse: dict[str, float] = {}
        self._queues = [Account() for _ in tree.queues]
        self._tenants: dict[tuple[int, str], Account] = {}  # by queue and tenant; ROOT: over all queues
        self._users: dict[tuple[int, str], Account] = {}
        # A leaf queue counts its users always, its ancestors only if they have a per-user limit.
        self._users_counted = [(q.code, *(c for c in q.lineage[1:] if tree[c].user_limits)) for q in tree.queues]
        self._queue_weights = [queue.weight for queue in tree.queues]
        self._tenant_weights = self.fair.weights
        self._watchers: list[Watcher] = []
        self._sweep_at = _SWEEP_FROM
        self.set_capacity(capacity)

    def watch(self, watcher: Watcher) -> None:
        """`watcher(queue, tenant)` is called after each charge."""
        self._watchers.append(watcher)

    def set_capacity(self, capacity: Mapping[str, float]) -> None:
        inverse = {name: 1.0 / amount for name, amount in capacity.items() if amount > 0}
        if inverse != self._inverse:
            self._inverse = inverse
            self.epoch += 1

    @contextmanager
    def capacity_restored(self) -> Iterator[None]:
        """Whoever sets a capacity meanwhile leaves no trace."""
        inverse, epoch = self._inverse, self.epoch
        try:
            yield
        finally:
            self._inverse, self.epoch = inverse, epoch

    @contextmanager
    def without(self, held: Sequence[Held]) -> Iterator[None]:
        """As if queues and users did not hold these amounts: for limits and guarantees. Shares of tenants, the past and
        the order of the line stay as they are."""
        self._hold(held, -1)
        try:
            yield
        finally:
            self._hold(held, 1)

    def _hold(self, held: Sequence[Held], times: int) -> None:
        for queue, user, amounts in held:
            for code in self.tree.queues[queue].lineage:
                self._queues[code].change(amounts, times)
            for code in self._users_counted[queue]:
                if (account := self._users.get((code, user or ""))) is not None:
                    account.change(amounts, times)

    def charge(
        self, queue: int, user: str | None, tenant: str, amounts: Mapping[str, int], times: int, now: float
    ) -> None:
        """Add `times` the amounts; negative: release them. `now` must never decrease."""
        lineage = self.tree.queues[queue].lineage
        if self.half_life_s is None:
            for code in lineage[:-1]:
                self._queues[code].change(amounts, times)
            self._change(self._tenants, (queue, tenant), amounts, times)
        else:
            ranked = [self._queues[code] for code in lineage[:-1]]
            ranked.append(self._tenant_with_history((queue, tenant), now))
            for account in ranked:
                account.change_with_history(amounts, times, now, self.half_life_s)
        self._queues[ROOT].change(amounts, times)
        self._change(self._tenants, (ROOT, tenant), amounts, times)
        for code in self._users_counted[queue]:
            self._change(self._users, (code, user or ""), amounts, times)
        for watcher in self._watchers:
            watcher(queue, tenant)

    def _change(
        self, accounts: dict[tuple[int, str], Account], key: tuple[int, str], amounts: Mapping[str, int], times: int
    ) -> None:
        """An account without history is deleted when it holds nothing."""
        account = accounts.get(key)
        if account is None:
            account = accounts[key] = Account()
        account.change(amounts, times)
        if not account.used:
            del accounts[key]

    def _tenant_with_history(self, key: tuple[int, str], now: float) -> Account:
        account = self._tenants.get(key)
        if account is None:
            self._drop_idle_tenants(now)
            account = self._tenants[key] = Account()
        return account

    def _drop_idle_tenants(self, now: float) -> None:
        """Whenever the number of tenants has doubled, delete those that hold nothing and whose past is negligible."""
        if self.half_life_s is None or len(self._tenants) < self._sweep_at:
            return
        for key, account in [*self._tenants.items()]:
            if not account.used and account.share_with_past(self._inverse, now, self.half_life_s) < _NEGLIGIBLE:
                del self._tenants[key]
        self._sweep_at = max(_SWEEP_FROM, 2 * len(self._tenants))

    def used(self, queue: int) -> Mapping[str, int]:
        """What the queue and its descendants hold."""
        return self._queues[queue].used

    def used_by(self, queue: int, user: str | None) -> Mapping[str, int]:
        """What one user holds in a leaf queue or one with a per-user limit. None counts as a user too."""
        account = self._users.get((queue, user or ""))
        return account.used if account else {}

    def share_of(self, queue: int) -> float:
        """The queue's present dominant share."""
        return dominant(self._queues[queue].used, self._inverse)

    def share_of_tenant(self, tenant: str, queue: int = ROOT) -> float:
        """A tenant's present dominant share: in one queue, or in all."""
        account = self._tenants.get((queue, tenant))
        return dominant(account.used, self._inverse) if account else 0.0

    def share_asked(self, amounts: Mapping[str, int], times: int = 1) -> float:
        """The dominant share of `times` the amounts."""
        return times * dominant(amounts, self._inverse)

    def weighted_share(self, queue: int, now: float) -> float:
        """What siblings are ranked by: the dominant share, with past usage if there is a half-life, over the weight."""
        return self.share_with_past(queue, now) / self._queue_weights[queue]

    def share_with_past(self, queue: int, now: float) -> float:
        """The queue's dominant share, with past usage if there is a half-life."""
        account = self._queues[queue]
        if self.half_life_s is None:
            return dominant(account.used, self._inverse)
        return account.share_with_past(self._inverse, now, self.half_life_s)

    def weighted_share_of_tenant(self, queue: int, tenant: str, now: float) -> float:
        """What the tenants of a queue are ranked by."""
        account = self._tenants.get((queue, tenant))
        if account is None:
            return 0.0
        weight = self._tenant_weights.get(tenant, 1.0)
        if self.half_life_s is None:
            return dominant(account.used, self._inverse) / weight
        return account.share_with_past(self._inverse, now, self.half_life_s) / weight

    def fair_share_deviation(self, active: Iterable[str] | None = None) -> dict[str, float]:
        """How far each active tenant (by default: all that hold something) is from its fair part of what they hold
        together: 0 is exact, -0.5 half of it, 1 twice. By weight and dominant share, sorted by name."""
        holding = (tenant for queue, tenant in self._tenants if queue == ROOT)
        tenants = sorted(set(holding if active is None else active))
        by_weight = {tenant: self.share_of_tenant(tenant) / self.fair.weight_of(tenant) for tenant in tenants}
        weights = sum(self.fair.weight_of(tenant) for tenant in tenants)
        level = sum(self.share_of_tenant(tenant) for tenant in tenants) / weights if weights else 0.0
        return {tenant: share / level - 1.0 if level else 0.0 for tenant, share in by_weight.items()}

    def history(self, now: float) -> list[PastUsage]:
        """The averages to persist; empty without a half-life."""
        if self.half_life_s is None:
            return []
        found = []
        for code, account in enumerate(self._queues):
            account.decay_to(now, self.half_life_s)
            found.append(PastUsage(self.tree.queues[code].path, None, account.as_of, dict(account.average)))
        for (code, tenant), account in sorted(self._tenants.items(), key=itemgetter(0)):
            account.decay_to(now, self.half_life_s)
            found.append(PastUsage(self.tree.queues[code].path, tenant, account.as_of, dict(account.average)))
        return [past for past in found if past.average]

    def recall(self, history: Iterable[PastUsage]) -> None:
        """Restore persisted averages; unknown queues are skipped. Call this before any charge."""
        for past in history:
            code = self.tree.by_path.get(past.path)
            if code is None or self.half_life_s is None:
                continue
            known = self._queues[code] if past.tenant is None else Account()
            known.average, known.as_of = dict(past.average), past.as_of
            if past.tenant is not None:
                self._tenants[code, past.tenant] = known
        self.epoch += 1
