"""Which queues use more than their guarantee (borrow), and which leave some of theirs idle (lend).

Only resources that some queue is guaranteed can be borrowed. Everything that a queue uses above its own guarantee is
borrowed. Reclaiming it is left to `quota` and preemption.
"""

from typing import NamedTuple

from dovetail.model.resources import Amounts, show_amount
from dovetail.queueing.tree import ROOT, QueueTree
from dovetail.queueing.usage import Usage


class Loan(NamedTuple):
    """How much of one resource a queue borrows or lends."""

    path: str
    resource: str
    amount: int

    @property
    def shown_amount(self) -> str:
        return show_amount(self.resource, self.amount)


class Borrowing:
    """Loans between the queues of one tree."""

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
