"""What a set of victims costs: a tuple to compare and to show, and the same as one whole number to add and bound with.

The order of cost is the order of the fields: how urgent the most urgent victim is, disruption budgets overrun, gangs
broken, victims that have not had their least run time, work lost, victims. Within one urgency the rest adds up, so a
search works with one number: each field has its own digits, and a sum never carries from one field into the next.
"""

from typing import NamedTuple

_COUNT_BITS, _LOST_BITS = 24, 48

VICTIM = 1
LOST_SECOND = 1 << _COUNT_BITS
TOO_SOON = LOST_SECOND << _LOST_BITS
BROKEN_GANG = TOO_SOON << _COUNT_BITS
VIOLATION = BROKEN_GANG << _COUNT_BITS

_COUNT_MASK, _LOST_MASK = (1 << _COUNT_BITS) - 1, (1 << _LOST_BITS) - 1
#: More than a century counts as a century, so that sums stay within their digits.
LONGEST_S = 1 << 32
#: Less urgent than anything: the urgency of an empty set of victims.
NO_VICTIM = -(1 << 30)


class Cost(NamedTuple):
    """Compared field by field; lower is better."""

    urgency: int  # minus the most urgent rank among the victims: rank 4 (batch) costs -4, rank 0 (critical) 0
    violations: int  # victims above what the disruption budgets of their groups allow
    gangs_broken: int
    too_soon: int  # victims that have not had their least run time
    lost_s: int  # whole seconds of work since the last checkpoint
    victims: int

    def with_more(self, other: "Cost") -> "Cost":
        """What both together cost."""
        return Cost(max(self.urgency, other.urgency), *(a + b for a, b in zip(self[1:], other[1:], strict=True)))


FREE = Cost(NO_VICTIM, 0, 0, 0, 0, 0)


def weight(too_soon: bool, lost_s: int) -> int:
    """One victim, apart from budgets and gangs, as a number."""
    return (TOO_SOON if too_soon else 0) + min(lost_s, LONGEST_S) * LOST_SECOND + VICTIM


def cost_of(rank: int, total: int) -> Cost:
    """The tuple behind a number; `rank` is that of the most urgent victim."""
    if not total:
        return FREE
    return Cost(
        -rank,
        total // VIOLATION,
        total // BROKEN_GANG & _COUNT_MASK,
        total // TOO_SOON & _COUNT_MASK,
        total // LOST_SECOND & _LOST_MASK,
        total & _COUNT_MASK,
    )
