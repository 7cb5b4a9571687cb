"""Can several requirements hold together? Searches for one case of each, so that all their atoms hold.

Guarantees: a no is right; running out of work means yes. Requirements with nothing in common are examined separately,
and what was found possible is not examined again when more is added.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from dovetail.constraints.contradictions.narrowing import Numbers, ResourceCeiling, numbers_in
from dovetail.constraints.contradictions.normal_form import (
    Case,
    Cases,
    Matched,
    Opaque,
    OrderTest,
    TextTest,
    is_text,
    texts_in,
)
from dovetail.constraints.contradictions.texts import Tested, no_pair_fits, tested
from dovetail.constraints.syntax.tree import Tree

MOST_WORK = 3000  # tests and comparisons looked at

T = TypeVar("T")


class JointSearch:
    """Answers several questions within one work budget."""

    def __init__(self, room: ResourceCeiling, work: int = MOST_WORK) -> None:
        self._room = room
        self._work = work

    def failed_preemptions(self, several: Sequence[Cases]) -> bool:
        """Is there no way for all of them to hold? The fewest cases come first, and dead ends are left early."""
        choices = sorted(several, key=len)
        if not choices:
            return False
        path = [(iter(choices[0]), _Chosen({}, Numbers(self._room), (), {}))]
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
            self._work -= len(tests)
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
