"""How many tasks of some kind each node holds: for work with affinity, anti-affinity or an even spread.

A count is made when it is first asked for, and kept up to date from then on. The counts that a task belongs to are
found once for its identity. A placement costs nothing more where no count exists.
Guarantees: a count always equals a count over all placed tasks (`check_invariants` compares). A trial leaves no trace:
neither in `version` nor in the order of the rules that placed tasks carry. Left to others: which domain a node is in.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable
from functools import cache
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np

from dovetail.cluster.arrays import F8, FIRST_CAPACITY, grown
from dovetail.cluster.labels import value_matches
from dovetail.model.requests.asks import AffinityRule, Selector
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.workloads.selection import Operator

Counted = Selector | AffinityRule  # tasks that are selected; tasks that carry a rule (and keep others away by it)
Token = tuple[object, ...]
ANY: Token = ()
KEPT_BYTES = 64 * 2**20

K = TypeVar("K", bound=Hashable)


class SelectorCount:
    """`counts` is float64[node], `total` their sum. `version` is a fingerprint of the counts: it is the same again when
    they are, also for a count that was dropped and is made again."""

    __slots__ = ("counts", "total", "version")

    def __init__(self, width: int) -> None:
        self.counts: F8 = np.zeros(width)
        self.total = 0
        self.version = 0

    def add(self, row: int, tasks: int) -> None:
        self.counts[row] += tasks
        self.total += tasks
        self.version += tasks * _fingerprint(row)


@cache
def _fingerprint(row: int) -> int:
    """A number of 128 bits for each row. Sums of them differ where the summands do, but for a vanishing chance."""
    return int.from_bytes(blake2b(row.to_bytes(8, "big"), digest_size=16).digest(), "big")


def selects(selector: Selector, identity: TaskIdentity) -> bool:
    if selector.namespaces and identity.namespace not in selector.namespaces:
        return False
    if selector.workload is not None and selector.workload != identity.workload:
        return False
    if selector.service is not None and selector.service != identity.service:
        return False
    if selector.conflict is not None and selector.conflict not in identity.conflicts:
        return False
    labels = dict(identity.labels)
    return all(value_matches(labels.get(match.key), match) for match in selector.term)


def concerns(rule: AffinityRule, identity: TaskIdentity) -> bool:
    """Is the task one of those the rule is about?"""
    if rule.but is not None and selects(rule.but, identity):
        return False
    return any(selects(whom, identity) for whom in rule.whom)


class SelectorCounts:
    """Written by `PlacementTable` only."""

    def __init__(self) -> None:
        self.repelling: dict[AffinityRule, int] = {}  # rules carried by placed tasks, and by how many
        self._width = FIRST_CAPACITY
        self._trials = 0  # that are open, one inside the other
        self._dropped: dict[AffinityRule, None] = {}  # rules that no placed task carries, until the trial ends
        self.kept: OrderedDict[Counted, SelectorCount] = OrderedDict()
        self._where: dict[TaskIdentity, dict[int, int]] | None = None  # tasks by row; None until a count is made
        self._identities = _Index[TaskIdentity]()
        self._counted = _Index[Counted]()
        self._rules = _Index[AffinityRule]()
        self._concerned: dict[TaskIdentity, list[SelectorCount]] = {}  # of identities that are placed

    def widen(self, width: int) -> None:
        self._width = width
        for selector_count in self.kept.values():
            selector_count.counts = grown(selector_count.counts, width)

    def count(self, identity: TaskIdentity, row: int, sign: int) -> None:
        """One more (or less) task of this identity is on the row."""
        for rule in identity.repels:
            self._carry(rule, sign)
        if self._where is None:
            return
        self._locate(self._where, identity, row, sign)
        concerned = self._concerned.get(identity)
        if concerned is None:
            concerned = self._find_concerned(identity)
        for selector_count in concerned:
            selector_count.add(row, sign)
        if identity not in self._where:  # a count that is made later does not find it
            del self._concerned[identity]

    def of(self, counted: Counted, placed: Iterable[tuple[TaskIdentity, int]]) -> SelectorCount:
        """The count for a selector or rule. `placed` are all placed tasks, read only when the first count is made."""
        found = self.kept.get(counted)
        if found is not None:
            self.kept.move_to_end(counted)
            return found
        if self._where is None:
            self._where = {}
            for identity, row in placed:
                self._locate(self._where, identity, row, 1)
        found = self.kept[counted] = SelectorCount(self._width)
        self._counted.add(counted, _any_of(counted))
        for identity in self._identities.find(_any_of(counted)):
            if _counts(counted, identity):
                for row, tasks in self._where[identity].items():
                    found.add(row, tasks)
                if identity in self._concerned:
                    self._concerned[identity].append(found)
        self._make_room(max(16, KEPT_BYTES // found.counts.nbytes))
        return found

    def repelled(self, identity: TaskIdentity) -> tuple[AffinityRule, ...]:
        """Rules of placed tasks that keep a task of this identity away from them."""
        if not self.repelling:
            return ()
        found = [rule for rule in self._rules.find((*_tokens(identity), ANY)) if concerns(rule, identity)]
        return tuple([rule for rule in found if rule not in self._dropped] if self._dropped else found)

    def begin_trial(self) -> None:
        """Until it ends, rules that no placed task carries any more keep their place in the order."""
        self._trials += 1

    def end_trial(self) -> None:
        """Everything is undone: a rule that no placed task carries now was new in the trial."""
        self._trials -= 1
        if not self._trials and self._dropped:
            for rule in self._dropped:
                self._rules.remove(rule, _about(rule))
            self._dropped.clear()

    def _make_room(self, most: int) -> None:
        while len(self.kept) > most:
            counted, _ = self.kept.popitem(last=False)
            self._counted.remove(counted, _any_of(counted))
            self._concerned.clear()

    def _carry(self, rule: AffinityRule, sign: int) -> None:
        carried = self.repelling.get(rule, 0) + sign
        if carried == sign:
            if rule in self._dropped:
                del self._dropped[rule]
            else:
                self._rules.add(rule, _about(rule))
        if carried:
            self.repelling[rule] = carried
            return
        del self.repelling[rule]
        if self._trials:
            self._dropped[rule] = None
        else:
            self._rules.remove(rule, _about(rule))

    def _locate(self, where: dict[TaskIdentity, dict[int, int]], identity: TaskIdentity, row: int, sign: int) -> None:
        rows = where.get(identity)
        if rows is None:
            rows = where[identity] = {}
            self._identities.add(identity, (*_tokens(identity), ANY))
        left = rows.get(row, 0) + sign
        if left:
            rows[row] = left
            return
        del rows[row]
        if not rows:
            del where[identity]
            self._identities.remove(identity, (*_tokens(identity), ANY))

    def _find_concerned(self, identity: TaskIdentity) -> list[SelectorCount]:
        found = [
            self.kept[counted]
            for counted in self._counted.find((*_tokens(identity), ANY))
            if _counts(counted, identity)
        ]
        self._concerned[identity] = found
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


def _counts(counted: Counted, identity: TaskIdentity) -> bool:
    return selects(counted, identity) if isinstance(counted, Selector) else counted in identity.repels


def _tokens(identity: TaskIdentity) -> list[Token]:
    """The tokens under which an identity is indexed."""
    found: list[Token] = [("namespace", identity.namespace), ("workload", identity.namespace, identity.workload)]
    if identity.service is not None:
        found.append(("service", identity.service))
    found += [("label", key, value) for key, value in identity.labels]
    found += [("conflict", conflict) for conflict in identity.conflicts]
    found += [("repels", rule) for rule in identity.repels]
    return found


def _any_of(counted: Counted) -> tuple[Token, ...]:
    """Tokens of which an identity must have one to be counted: the most selective ones."""
    if isinstance(counted, AffinityRule):
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


def _about(rule: AffinityRule) -> tuple[Token, ...]:
    """Tokens of which an identity must have one for the rule to concern it."""
    return tuple(dict.fromkeys(token for whom in rule.whom for token in _any_of(whom)))
