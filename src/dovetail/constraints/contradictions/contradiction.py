"""Finds requirements of one workload that no node whatsoever could meet together.

Guarantees: no conceivable node satisfies what is refused here. What cannot be shown with little work is accepted, and
the scheduler will say why nothing fits. The error names a small set of requirements: without any one of them the others
could hold. Preferences are not requirements, whatever their priority: they are given up when nothing fits.
Left to others: whether an expression makes sense (`program`), what is known of strings (`together`), of numbers
(`narrowing`) and of other work (`opposites`), and the real nodes.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import NamedTuple

from dovetail.constraints.contradictions.narrowing import IN_THOUSANDTHS, MARGIN, ResourceCeiling
from dovetail.constraints.contradictions.normal_form import (
    ALWAYS,
    EQUAL,
    MORE,
    MOST_CASES,
    NODE,
    Atom,
    Cases,
    Matched,
    OrderTest,
    label,
    parts_of,
)
from dovetail.constraints.contradictions.opposites import opposites
from dovetail.constraints.contradictions.together import JointSearch, apart, subjects_of
from dovetail.constraints.programs.structure import text_of
from dovetail.constraints.syntax.tree import Index, Literal, Select
from dovetail.model.requests.asks import Match
from dovetail.model.resources import CPU, DISK, MEMORY, SLOTS, show_amount
from dovetail.model.text.complaint import field_name
from dovetail.model.workloads.selection import NodeTerm, Operator
from dovetail.model.workloads.workload import Workload

MOST_REQUIREMENTS = 200  # looked at; the rest is left to the scheduler
MOST_PAIRED = 20  # requirements among which every pair is tried
MOST_NAMED = 4
MAX_WORDS = 100
KEPT = 4096
SIMPLE = ("node_selector", "resources")  # such alone never contradict each other
MEASURED = frozenset({CPU, MEMORY, DISK})

Path = tuple[str | int, ...]


class ConflictingRequirement(NamedTuple):
    """One thing the user wrote: where, in which words, and when it is met."""

    path: Path
    words: str
    cases: Cases


class Contradiction(NamedTuple):
    path: Path
    message: str


class _Asked(NamedTuple):
    """What a workload requires of nodes; equal for all workloads of one kind."""

    selector: tuple[tuple[str, str], ...]
    amounts: tuple[tuple[str, int], ...]
    terms: tuple[tuple[Match, ...], ...]
    texts: tuple[tuple[int, str], ...]  # by the index of the constraint


def find(spec: Workload, ceiling: ResourceCeiling | None = None) -> Contradiction | None:
    """A contradiction in the workload. Its expressions have been checked before."""
    if len(spec.affinity) + len(spec.conflicts) > 1 and (found := opposites(spec)) is not None:
        return Contradiction(*found)
    required = [(index, one.require) for index, one in enumerate(spec.constraints) if one.require is not None]
    if not required and not spec.node_affinity.required:
        return None
    asked = _Asked(
        tuple(spec.node_selector.items()),
        tuple(spec.resources.amounts().items()),
        tuple([_term(term) for term in spec.node_affinity.required]),
        tuple([(index, text_of(expression)) for index, expression in required]),
    )
    return _among(asked, ceiling or ResourceCeiling())


def _term(term: NodeTerm) -> tuple[Match, ...]:
    return tuple([Match(match.key, match.operator, tuple(match.values)) for match in term.match])


@lru_cache(maxsize=KEPT)
def _among(asked: _Asked, ceiling: ResourceCeiling) -> Contradiction | None:
    core = smallest_core(list(islice(_requirements(asked, ceiling), MOST_REQUIREMENTS)), ceiling)
    return None if core is None else _as_contradiction(core)


def _requirements(asked: _Asked, ceiling: ResourceCeiling) -> Iterator[ConflictingRequirement]:
    for key, value in asked.selector:
        match = Match(key, Operator.IN, (value,))
        yield ConflictingRequirement(
            ("node_selector", key), f"node_selector {key}={value}", ((Matched(label(key), match),),)
        )
    for resource, amount in asked.amounts:
        words = f"resources.{resource}: {show_amount(resource, amount)}"
        if resource == SLOTS:
            words = "the slot that every task takes"
        yield ConflictingRequirement(("resources", resource), words, _holds(resource, amount, ceiling))
    yield from _affinity(asked.terms)
    for index, text in asked.texts:
        for part in parts_of(text):
            yield ConflictingRequirement(("constraints", index, "require"), part.text, part.cases)


def _holds(resource: str, amount: int, ceiling: ResourceCeiling) -> Cases:
    """The task fits on the node now, so it is at least that large."""
    unit = 1000 if resource in IN_THOUSANDTHS else None
    asked = amount if unit is None else amount / unit
    ratio = ceiling.ratio(resource)
    least = asked if ratio <= 1 else asked / ratio * (1 - MARGIN)
    found: list[Atom] = [_at_least("capacity", resource, least)]
    if not (ceiling.measured and resource in MEASURED):
        found.append(_at_least("free", resource, asked))
    return (tuple(found),)


def _at_least(what: str, resource: str, amount: float) -> OrderTest:
    return OrderTest(Index(Select(NODE, what), Literal(resource)), Literal(amount), frozenset({MORE, EQUAL}))


def _affinity(terms: Sequence[Sequence[Match]]) -> Iterator[ConflictingRequirement]:
    """Any one of the terms; a single term must hold match by match."""
    path: Path = ("node_affinity", "required")
    if len(terms) == 1:
        for index, match in enumerate(terms[0]):
            yield ConflictingRequirement((*path, 0, "match", index), str(match), ((Matched(label(match.key), match),),))
    elif terms:
        words = ", or ".join(" and ".join(map(str, term)) for term in terms)
        cases = tuple([tuple([Matched(label(match.key), match) for match in term]) for term in terms])
        yield ConflictingRequirement(path, words, cases if len(cases) <= MOST_CASES else ALWAYS)


def smallest_core(asked: list[ConflictingRequirement], ceiling: ResourceCeiling) -> list[ConflictingRequirement] | None:
    """The smallest contradiction: one requirement, or two; else a set from which none can be left out."""
    asked = [one for one in asked if one.cases != ALWAYS]
    search = JointSearch(ceiling)
    for group in apart(asked, [subjects_of(one.cases) for one in asked]):
        if any(one.path[0] not in SIMPLE for one in group) and _never(group, search):
            return _smallest(group, JointSearch(ceiling))
    return None


def _never(asked: Sequence[ConflictingRequirement], search: JointSearch) -> bool:
    return search.never_hold([one.cases for one in asked])


def _smallest(asked: list[ConflictingRequirement], search: JointSearch) -> list[ConflictingRequirement]:
    for one in asked:
        if _never([one], search):
            return [one]
    if len(asked) <= MOST_PAIRED:
        for pair in combinations(asked, 2):
            if _never(pair, search):
                return list(pair)
    core = _needed([], asked, search, new=False)
    return [one for one in asked if any(one is other for other in core)]


def _needed(
    given: list[ConflictingRequirement], asked: list[ConflictingRequirement], search: JointSearch, *, new: bool
) -> list[ConflictingRequirement]:
    """The fewest of the requirements that contradict the given ones, found by bisection, since few of many are
    expected. `new`: the given ones have grown since the last check."""
    if new and _never(given, search):
        return []
    if len(asked) == 1:
        return asked
    first, second = asked[: len(asked) // 2], asked[len(asked) // 2 :]
    of_second = _needed(given + first, second, search, new=True)
    of_first = _needed(given + of_second, first, search, new=bool(of_second))
    return of_first + of_second


def _as_contradiction(core: list[ConflictingRequirement]) -> Contradiction:
    last = core[-1]
    if len(core) == 1:
        return Contradiction(last.path, f"{_short(last.words)} can never hold")
    named = [_named(one, last) for one in core[:-1]]
    if len(named) > MOST_NAMED:
        named[MOST_NAMED:] = [f"{len(named) - MOST_NAMED} more"]
    others = " and ".join(named)
    return Contradiction(last.path, f"{_short(last.words)} cannot hold together with {others}")


def _named(one: ConflictingRequirement, beside: ConflictingRequirement) -> str:
    """With its field, unless the words or the neighbouring text name it already."""
    if one.path == beside.path or one.path[0] in SIMPLE:
        return _short(one.words)
    return f"{field_name(one.path)}: {_short(one.words)}"


def _short(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= MAX_WORDS else line[: MAX_WORDS - 1] + "…"
