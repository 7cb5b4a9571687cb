"""Can several requirements hold together? Searches for one case of each, so that all their atoms hold.

Guarantees: a no is right; running out of work means yes. Requirements with nothing in common are examined separately,
and what was found possible is not examined again when more is added. Tests of a text that treat all values alike except
those they mention (`==`, `!=`, `in`, `has`) are decided exactly: one other value stands for all others. If such a test
leaves only a few values, every other test is tried on those. Otherwise prefixes and suffixes that exclude each other
are noticed. Two texts are compared where one has few values left.
"""

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeVar

from dovetail.cluster.labels import value_matches
from dovetail.constraints.contradictions.folding import FAILED, UNKNOWN, value_of
from dovetail.constraints.contradictions.narrowing import Numbers, ResourceCeiling, numbers_in
from dovetail.constraints.contradictions.normal_form import (
    EQUAL,
    LESS,
    MORE,
    Case,
    Cases,
    Matched,
    Opaque,
    OrderTest,
    TextTest,
    can_lack,
    carries,
    is_text,
    texts_in,
)
from dovetail.constraints.syntax.tree import Call, ListOf, Literal, Tree, children_of
from dovetail.model.workloads.selection import Operator

Test = TextTest | Matched
Value = str | None


class Tested(NamedTuple):
    """A string, and tests that all hold of it. `few`: the values it can have, if only some of the mentioned ones;
    `lacking`: whether the label can be missing."""

    tests: tuple[Test, ...]
    few: tuple[str, ...] | None
    lacking: bool


def tested(subject: Tree, tests: tuple[Test, ...]) -> Tested | None:
    """None if no value satisfies all tests, and a missing label does not either."""
    lacking = can_lack(subject) and _fit(tests, None)
    few = _few(subject, tests)
    found = Tested(tests, few, lacking)
    if lacking or few:
        return found
    if few is not None:
        return None
    if all(_mentioned(subject, test) is not None for test in tests):
        return found  # a value that none of them mentions
    return None if _ends_exclude(subject, tests) or _numbers_exclude(tests) else found


def no_pair_fits(ways: AbstractSet[str], left: Tested, right: Tested) -> bool:
    """Can two strings not compare so? Answered where one has few values left."""
    if left.few is not None and right.few is not None:
        return not ways & _ways(left.few, right.few)
    if ways != {EQUAL}:
        return False
    if left.few is not None:
        return not _fitting_all(right.tests, left.few)
    return right.few is not None and not _fitting_all(left.tests, right.few)


def _ways(some: Sequence[str], others: Sequence[str]) -> set[str]:
    """How one of some texts may lie to one of the others."""
    if not some or not others:
        return set()
    less, more = min(some) < max(others), max(some) > min(others)
    equal = not set(some).isdisjoint(others)
    return {way for way, there in ((LESS, less), (EQUAL, equal), (MORE, more)) if there}


def _few(subject: Tree, tests: Sequence[Test]) -> tuple[str, ...] | None:
    mentioned = [_mentioned(subject, test) for test in tests]
    other = _another([value for values in mentioned if values is not None for value in values])
    for test, values in zip(tests, mentioned, strict=True):
        if values is not None and not _fits(test, other):
            return tuple(_fitting_all(tests, list(dict.fromkeys(values))))
    return None


def _fitting_all(tests: Sequence[Test], values: Sequence[str]) -> Sequence[str]:
    """The values of which all tests may hold."""
    for test in tests:
        values = _fitting(test, values)
    return values


def _fitting(test: Test, values: Sequence[str]) -> Sequence[str]:
    """The values of which the test may hold, in time that grows with their number and not with its square: a test that
    mentions values treats all of them alike, and all others alike."""
    mentioned = _mentioned(test.subject, test)
    if mentioned is None:
        return [value for value in values if _fits(test, value)]
    if_named = bool(mentioned) and _fits(test, mentioned[0])
    if_not, named = _fits(test, _another(mentioned)), frozenset(mentioned)
    return [value for value in values if (if_named if value in named else if_not)]


def _fit(tests: Sequence[Test], value: Value) -> bool:
    return all(_fits(test, value) for test in tests)


def _fits(test: Test, value: Value) -> bool:
    """Is it possible that the test holds of this value?"""
    if isinstance(test, Matched):
        return value_matches(value, test.match)
    known: dict[Tree, Any] = {test.subject: FAILED if value is None else value}
    if can_lack(test.subject):
        known[carries(test.subject)] = value is not None
    found = value_of(test.test, known)
    return found is UNKNOWN or found is test.holds


def _mentioned(subject: Tree, test: Test) -> list[str] | None:
    """The values that it distinguishes; None if it looks into the string, so that any value may matter."""
    if isinstance(test, Matched):
        return None if test.match.operator in (Operator.GT, Operator.LT) else list(test.match.values)
    match test.test:
        case Call("==" | "!=", (left, Literal(str(value)))) if left == subject:
            return [value]
        case Call("==" | "!=", (Literal(str(value)), right)) if right == subject:
            return [value]
        case Call("in", (left, ListOf(items))) if left == subject:
            values = [item.value for item in items if isinstance(item, Literal) and isinstance(item.value, str)]
            return values if len(values) == len(items) else None
        case Call("in", (Literal(), _)):
            return []
    return None


def _size(test: Test) -> int:
    """How many values it lists."""
    if isinstance(test, Matched):
        return len(test.match.values)
    return max((len(part.items) for part in children_of(test.test) if isinstance(part, ListOf)), default=0)


def _another(values: list[str]) -> str:
    """A value that is not one of these."""
    return "x" * (1 + max(map(len, values), default=0))


def _ends_exclude(subject: Tree, tests: Sequence[Test]) -> bool:
    for function, starts in (("startsWith", str.startswith), ("endsWith", str.endswith)):
        wanted = list(_ends(subject, tests, function, True))
        if not wanted:
            continue
        longest = max(wanted, key=len)
        if not all(starts(longest, end) for end in wanted):
            return True
        if any(starts(longest, end) for end in _ends(subject, tests, function, False)):
            return True
    return False


def _ends(subject: Tree, tests: Sequence[Test], function: str, holds: bool) -> Iterator[str]:
    for test in tests:
        if isinstance(test, TextTest) and test.holds is holds:
            match test.test:
                case Call(name, (left, Literal(str(end)))) if name == function and left == subject:
                    yield end


def _numbers_exclude(tests: Sequence[Test]) -> bool:
    """More than one integer and less than another, with none between them."""
    matches = [test.match for test in tests if isinstance(test, Matched)]
    above = [int(match.values[0]) for match in matches if match.operator is Operator.GT]
    below = [int(match.values[0]) for match in matches if match.operator is Operator.LT]
    return bool(above and below) and max(above) + 1 >= min(below)


MOST_WORK = 3000  # tests and comparisons looked at
VALUES_AT_ONCE = 20  # looking at so many values of a list takes as long as one test

T = TypeVar("T")


class JointSearch:
    """Answers several questions within one work budget."""

    def __init__(self, ceiling: ResourceCeiling, work: int = MOST_WORK) -> None:
        self._ceiling = ceiling
        self._work = work

    def never_hold(self, several: Sequence[Cases]) -> bool:
        """Is there no way for all of them to hold? The fewest cases come first, and dead ends are left early."""
        choices = sorted(several, key=len)
        if not choices:
            return False
        path = [(iter(choices[0]), _Chosen({}, Numbers(self._ceiling), (), {}))]
        while path:
            untried, chosen = path[-1]
            case = next(untried, None)
            if case is None:
                path.pop()
                continue
            self._work -= 1 + len(case)
            more = self._with(chosen, case)
            if self._work < 0 or (more is not None and len(path) == len(choices)):
                return False
            if more is not None:
                path.append((iter(choices[len(path)]), more))
        return True

    def _with(self, chosen: "_Chosen", case: Case) -> "_Chosen | None":
        """With the atoms of one more case; None if that cannot be. Only what the case speaks of is looked at."""
        truths = dict(chosen.truths)
        if any(truths.setdefault(one.tree, one.holds) is not one.holds for one in case if isinstance(one, Opaque)):
            return None
        texts, touched = dict(chosen.texts), [one for one in case if isinstance(one, TextTest | Matched)]
        for subject in {one.subject: None for one in touched}:
            before = texts[subject].tests if subject in texts else ()
            tests = (*before, *[one for one in touched if one.subject == subject])
            self._work -= len(tests) + sum(map(_size, tests)) // VALUES_AT_ONCE
            found = tested(subject, tests)
            if found is None:
                return None
            texts[subject] = found
        orders, numbers = [one for one in case if isinstance(one, OrderTest)], chosen.numbers
        if orders:
            self._work -= len(numbers)
            narrowed = numbers.and_also(orders)
            if narrowed is None:
                return None
            numbers = narrowed
        between = (*chosen.between, *[one for one in orders if is_text(one.left) and is_text(one.right)])
        self._work -= len(between)
        pairs = [one for one in between if one.left in texts and one.right in texts]
        if any(no_pair_fits(one.ways, texts[one.left], texts[one.right]) for one in pairs):
            return None
        return _Chosen(texts, numbers, between, truths)


class _Chosen(NamedTuple):
    """Atoms that can hold together, as far as is known."""

    texts: dict[Tree, Tested]
    numbers: Numbers
    between: tuple[OrderTest, ...]  # two texts
    truths: dict[Tree, bool]


def subjects_of(cases: Cases) -> frozenset[Hashable]:
    """What they refer to. Requirements with nothing in common cannot contradict each other."""
    return frozenset(subject for case in cases for atom in case for subject in _subjects(atom))


def _subjects(atom: TextTest | Matched | OrderTest | Opaque) -> Iterator[Hashable]:
    match atom:
        case TextTest(subject) | Matched(subject):
            yield subject
        case Opaque(tree):
            yield tree
        case OrderTest(left, right):
            for side in (left, right):
                yield from texts_in(side)
                yield from numbers_in(side)


def apart(items: Sequence[T], subjects: Sequence[frozenset[Hashable]]) -> list[list[T]]:
    """The items in groups, in their order, so that no two groups have a subject in common."""
    group_of: dict[Hashable, int] = {}
    groups: dict[int, list[int]] = {}
    for index, about in enumerate(subjects):
        members = [index]
        for group in {group_of[subject] for subject in about if subject in group_of}:
            members += groups.pop(group)
        groups[index] = members
        for member in members:
            group_of.update(dict.fromkeys(subjects[member], index))
    return [[items[member] for member in sorted(members)] for members in groups.values()]
