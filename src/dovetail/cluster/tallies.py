"""How many tasks of some kind each node holds: for work that wants to be near to them, apart from them, or spread.

A tally is made when somebody first asks for it and kept up to date from then on; which tallies a task counts in is
worked out once for its badge. Where nobody asks, a placement costs nothing more.
Guarantees: a tally always equals a count over all placed tasks (`check_invariants` compares). Left to others: which
domain a node is in.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

import numpy as np

from dovetail.cluster.arrays import F8, FIRST_CAPACITY, grown
from dovetail.cluster.labels import value_matches
from dovetail.model.asks import Company, Selector
from dovetail.model.badge import Badge
from dovetail.model.selection import Operator

Counted = Selector | Company  # tasks that are selected; tasks that carry a rule (and keep others away by it)
Token = tuple[object, ...]
ANY: Token = ()
KEPT_BYTES = 64 * 2**20

K = TypeVar("K", bound=Hashable)


class Tally:
    """`counts` is float64[node], `total` their sum; `version` grows with every change, and no two tallies ever have had
    the same: one that is made again after it was forgotten differs from what it was."""

    __slots__ = ("counts", "total", "version")

    def __init__(self, width: int, version: int) -> None:
        self.counts: F8 = np.zeros(width)
        self.total = 0
        self.version = version


def selects(selector: Selector, badge: Badge) -> bool:
    if selector.namespaces and badge.namespace not in selector.namespaces:
        return False
    if selector.workload is not None and selector.workload != badge.workload:
        return False
    if selector.service is not None and selector.service != badge.service:
        return False
    if selector.conflict is not None and selector.conflict not in badge.conflicts:
        return False
    labels = dict(badge.labels)
    return all(value_matches(labels.get(match.key), match) for match in selector.term)


def concerns(rule: Company, badge: Badge) -> bool:
    """Is the task one of those the rule is about?"""
    if rule.but is not None and selects(rule.but, badge):
        return False
    return any(selects(whom, badge) for whom in rule.whom)


class Tallies:
    """Written by `PlacementTable` only."""

    def __init__(self) -> None:
        self.repelling: dict[Company, int] = {}  # rules carried by placed tasks, and by how many
        self._width = FIRST_CAPACITY
        self._versions = 0
        self._tallies: OrderedDict[Counted, Tally] = OrderedDict()
        self._where: dict[Badge, dict[int, int]] | None = None  # tasks by row; None until somebody asks
        self._badges = _Index[Badge]()
        self._counted = _Index[Counted]()
        self._rules = _Index[Company]()
        self._concerned: dict[Badge, list[Tally]] = {}  # of badges that are placed

    def widen(self, width: int) -> None:
        self._width = width
        for tally in self._tallies.values():
            tally.counts = grown(tally.counts, width)

    def count(self, badge: Badge, row: int, sign: int) -> None:
        """One more (or less) task of this badge is on the row."""
        for rule in badge.repels:
            self._carry(rule, sign)
        if self._where is None:
            return
        self._locate(self._where, badge, row, sign)
        concerned = self._concerned.get(badge)
        if concerned is None:
            concerned = self._find_concerned(badge)
        self._versions += 1
        for tally in concerned:
            tally.counts[row] += sign
            tally.total += sign
            tally.version = self._versions
        if badge not in self._where:  # a tally that is made later does not find it
            del self._concerned[badge]

    def of(self, counted: Counted, placed: Iterable[tuple[Badge, int]]) -> Tally:
        """The tally of a kind of task. `placed` are all placed tasks, looked at only when the first tally is made."""
        found = self._tallies.get(counted)
        if found is not None:
            self._tallies.move_to_end(counted)
            return found
        if self._where is None:
            self._where = {}
            for badge, row in placed:
                self._locate(self._where, badge, row, 1)
        self._versions += 1
        found = self._tallies[counted] = Tally(self._width, self._versions)
        self._counted.add(counted, _any_of(counted))
        for badge in self._badges.find(_any_of(counted)):
            if _counts(counted, badge):
                for row, tasks in self._where[badge].items():
                    found.counts[row] += tasks
                    found.total += tasks
                if badge in self._concerned:
                    self._concerned[badge].append(found)
        self._make_room(max(16, KEPT_BYTES // found.counts.nbytes))
        return found

    def repelled(self, badge: Badge) -> tuple[Company, ...]:
        """Rules of placed tasks that keep a task of this badge away from them."""
        if not self.repelling:
            return ()
        return tuple([rule for rule in self._rules.find((*_tokens(badge), ANY)) if concerns(rule, badge)])

    def kept(self) -> Mapping[Counted, Tally]:
        """For checking."""
        return self._tallies

    def _make_room(self, most: int) -> None:
        while len(self._tallies) > most:
            counted, _ = self._tallies.popitem(last=False)
            self._counted.remove(counted, _any_of(counted))
            self._concerned.clear()

    def _carry(self, rule: Company, sign: int) -> None:
        carried = self.repelling.get(rule, 0) + sign
        if carried == sign:
            self._rules.add(rule, _about(rule))
        if carried:
            self.repelling[rule] = carried
        else:
            del self.repelling[rule]
            self._rules.remove(rule, _about(rule))

    def _locate(self, where: dict[Badge, dict[int, int]], badge: Badge, row: int, sign: int) -> None:
        rows = where.get(badge)
        if rows is None:
            rows = where[badge] = {}
            self._badges.add(badge, (*_tokens(badge), ANY))
        left = rows.get(row, 0) + sign
        if left:
            rows[row] = left
            return
        del rows[row]
        if not rows:
            del where[badge]
            self._badges.remove(badge, (*_tokens(badge), ANY))

    def _find_concerned(self, badge: Badge) -> list[Tally]:
        found = [
            self._tallies[counted] for counted in self._counted.find((*_tokens(badge), ANY)) if _counts(counted, badge)
        ]
        self._concerned[badge] = found
        return found


class _Index(Generic[K]):
    """Things by any of their tokens, in the order they came."""

    def __init__(self) -> None:
        self._by_token: dict[Token, dict[K, None]] = {}

    def add(self, thing: K, tokens: Iterable[Token]) -> None:
        for token in tokens:
            self._by_token.setdefault(token, {})[thing] = None

    def remove(self, thing: K, tokens: Iterable[Token]) -> None:
        for token in tokens:
            things = self._by_token[token]
            del things[thing]
            if not things:
                del self._by_token[token]

    def find(self, tokens: Iterable[Token]) -> list[K]:
        found: dict[K, None] = {}
        for token in tokens:
            found.update(self._by_token.get(token, {}))
        return list(found)


def _counts(counted: Counted, badge: Badge) -> bool:
    return selects(counted, badge) if isinstance(counted, Selector) else counted in badge.repels


def _tokens(badge: Badge) -> list[Token]:
    """What a badge can be found by."""
    found: list[Token] = [("namespace", badge.namespace), ("workload", badge.namespace, badge.workload)]
    if badge.service is not None:
        found.append(("service", badge.service))
    found += [("label", key, value) for key, value in badge.labels]
    found += [("conflict", conflict) for conflict in badge.conflicts]
    found += [("repels", rule) for rule in badge.repels]
    return found


def _any_of(counted: Counted) -> tuple[Token, ...]:
    """Tokens of which a badge must have one to be counted: those that narrow it down most."""
    if isinstance(counted, Company):
        return (("repels", counted),)
    if counted.workload is not None and counted.namespaces:
        return tuple([("workload", namespace, counted.workload) for namespace in counted.namespaces])
    if counted.conflict is not None:
        return (("conflict", counted.conflict),)
    if counted.service is not None:
        return (("service", counted.service),)
    for match in counted.term:
        if match.operator is Operator.IN:
            return tuple([("label", match.key, value) for value in match.values])
    return tuple([("namespace", namespace) for namespace in counted.namespaces]) or (ANY,)


def _about(rule: Company) -> tuple[Token, ...]:
    """Tokens of which a badge must have one for the rule to concern it."""
    return tuple(dict.fromkeys(token for whom in rule.whom for token in _any_of(whom)))
