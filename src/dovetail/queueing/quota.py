"""Quotas: may a queue take more, who borrows and lends, and from which queues may it reclaim its guarantee?

Guarantees: charges that `over` accepts never exceed the maximum of a queue, of its ancestors, or the limit of a user. A
queue in `reclaimable_from` borrows a requested resource at every level up to the common ancestor, so reclaiming never
takes a queue below its guarantee. Left to others: choosing victims (preemption) and nodes (placement).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.model.resources import Amounts, show_amount
from dovetail.queueing.tree import ROOT, QueueTree
from dovetail.queueing.usage import Usage

_BORROWERS_NAMED = 3


class Loan(NamedTuple):
    """How much of one resource a queue borrows or lends."""

    path: str
    resource: str
    amount: int

    @property
    def shown_amount(self) -> str:
        return show_amount(self.resource, self.amount)


class Borrowing:
    """Loans between the queues of one tree: all that a queue uses above its guarantee is borrowed. Only resources that
    some queue is guaranteed can be borrowed."""

    def __init__(self, tree: QueueTree, usage: Usage) -> None:
        self._tree = tree
        self._usage = usage

    def borrowed(self, queue: int) -> Amounts:
        """What the queue uses above its guarantee."""
        guaranteed = self._tree[queue].guaranteed
        found: Amounts = {}
        for resource, used in self._usage.used(queue).items():
            above = used - guaranteed.get(resource, 0)
            if above > 0 and resource in self._tree.shared_out:
                found[resource] = above
        return found

    def borrowers(self, resource: str, under: int = ROOT) -> list[Loan]:
        """Leaf queues that borrow the resource, the largest loan first, then by path."""
        return self._loans(resource, under, 1)

    def lenders(self, resource: str, under: int = ROOT) -> list[Loan]:
        """Leaf queues with an idle part of their guarantee, the largest part first, then by path."""
        return self._loans(resource, under, -1)

    def _loans(self, resource: str, under: int, sign: int) -> list[Loan]:
        if resource not in self._tree.shared_out:
            return []
        loans = []
        for leaf in self._tree.leaves(under):
            above = self._usage.used(leaf).get(resource, 0) - self._tree[leaf].guaranteed.get(resource, 0)
            if above * sign > 0:
                loans.append(Loan(self._tree[leaf].path, resource, above * sign))
        return sorted(loans, key=lambda loan: (-loan.amount, loan.path))


@dataclass(frozen=True, slots=True)
class OverQuota:
    """Why a queue may not take more now. `user` is set if a per-user limit applies. All work without a user counts as
    one user with an empty name; otherwise leaving it out would evade the limit."""

    queue: str
    resource: str
    used: int
    asked: int
    limit: int
    user: str | None = None
    borrowers: tuple[Loan, ...] = ()

    @property
    def never(self) -> bool:
        """The request alone exceeds the limit: waiting does not help."""
        return self.asked > self.limit

    @property
    def message(self) -> str:
        """`queue research/nlp: gpu 60 of 64 in use, 8 asked; ml borrows 12`."""
        used, asked, limit = (show_amount(self.resource, amount) for amount in (self.used, self.asked, self.limit))
        subject = f"queue {self.queue}"
        if self.user is not None:
            subject = f"user {self.user or '(none given)'} in {subject}"
        if self.never:
            return f"{subject}: {self.resource} {asked} asked, the limit is {limit}; it can never start"
        words = [f"{subject}: {self.resource} {used} of {limit} in use, {asked} asked"]
        words += [f"{loan.path} borrows {loan.shown_amount}" for loan in self.borrowers[:_BORROWERS_NAMED]]
        if len(self.borrowers) > _BORROWERS_NAMED:
            words.append(f"{len(self.borrowers) - _BORROWERS_NAMED} more borrow")
        return "; ".join(words)


def _exceeded(
    limits: Mapping[str, int], used: Mapping[str, int], amounts: Mapping[str, int]
) -> tuple[str, int, int, int] | None:
    """The first resource of which too much would be used: its name, what is used and asked, and the limit."""
    for resource, limit in limits.items():
        asked = amounts.get(resource, 0)
        if asked and used.get(resource, 0) + asked > limit:
            return resource, used.get(resource, 0), asked, limit
    return None


class Quotas:
    """Compares the limits of a queue tree with its usage."""

    def __init__(self, tree: QueueTree, usage: Usage) -> None:
        self._tree = tree
        self._usage = usage
        self.borrowing = Borrowing(tree, usage)
        # Checked for every task, and most queues have no limit: only levels with one are visited.
        self._maxima = [[c for c in queue.lineage if tree[c].maximum] for queue in tree.queues]
        self._per_user = [[c for c in queue.lineage if tree[c].user_limits] for queue in tree.queues]

    def over(self, queue: int, user: str | None, amounts: Mapping[str, int]) -> OverQuota | None:
        """The first limit that the amounts would exceed, the queue's own before its ancestors'. None: none."""
        for code in self._maxima[queue]:
            limited = self._tree[code]
            if found := _exceeded(limited.maximum, self._usage.used(code), amounts):
                return OverQuota(limited.path, *found, borrowers=self._borrowers(queue, code, found[0]))
        for code in self._per_user[queue]:
            limited = self._tree[code]
            if found := _exceeded(limited.user_limits, self._usage.used_by(code, user), amounts):
                return OverQuota(limited.path, *found, user or "")
        return None

    def _borrowers(self, queue: int, limited: int, resource: str) -> tuple[Loan, ...]:
        """Borrowers to name in the message: below the limited queue if it has children, otherwise anywhere."""
        under = ROOT if self._tree.is_leaf(limited) else limited
        own = self._tree[queue].path
        return tuple(loan for loan in self.borrowing.borrowers(resource, under) if loan.path != own)

    def crowded(self, queue: int, waiting: Callable[[int], int]) -> str | None:
        """Why no more workloads may wait in the queue: it, or an ancestor, is full. None if they may."""
        for code in self._tree[queue].lineage:
            most = self._tree[code].max_workloads
            if most is not None and waiting(code) >= most:
                return (
                    f"queue {self._tree[code].path}: {waiting(code)} workloads wait, and it takes no more than {most}"
                )
        return None

    def entitled(self, queue: int, amounts: Mapping[str, int], over: int | None = None) -> bool:
        """Would the queue or an ancestor stay within its guarantee? Then it may reclaim what others borrow. `over`:
        only guarantees count that this other queue has no part in."""
        shared = () if over is None else self._tree[over].lineage
        levels = [level for level in self._tree[queue].lineage[:-1] if level not in shared]
        return any(self._within_guarantee(level, amounts) for level in levels)

    def _within_guarantee(self, queue: int, amounts: Mapping[str, int]) -> bool:
        """True if at least one requested resource is guaranteed, and all such stay within the guarantee."""
        guaranteed, used = self._tree[queue].guaranteed, self._usage.used(queue)
        asked = [name for name, amount in amounts.items() if amount and name in guaranteed]
        return bool(asked) and all(used.get(name, 0) + amounts[name] <= guaranteed[name] for name in asked)

    def reclaimable_from(self, queue: int, amounts: Mapping[str, int]) -> set[int]:
        """Leaf queues that borrow a requested resource, in branches that this queue may reclaim from."""
        found: set[int] = set()
        for level in self._tree[queue].lineage[:-1]:
            if self._within_guarantee(level, amounts):
                for sibling in self._tree.children[self._tree[level].parent]:
                    if sibling != level:
                        for resource in sorted(name for name, amount in amounts.items() if amount):
                            self._collect(sibling, resource, found)
        return found

    def _collect(self, queue: int, resource: str, found: set[int]) -> None:
        if resource not in self.borrowing.borrowed(queue):
            return
        if self._tree.is_leaf(queue):
            found.add(queue)
        for child in self._tree.children[queue]:
            self._collect(child, resource, found)
