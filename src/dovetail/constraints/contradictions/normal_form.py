"""When an expression is true: a choice of cases, each of them atoms that hold together (a disjunctive normal form).

Negations are pushed down with the language's own meaning, in which an error is neither true nor false: `!(x == "a")`
needs the label to be there, `!has(x)` needs it to be absent.
Guarantees: on every node where the expression is true, all atoms of at least one case hold. The reverse need not be so:
what is not understood is left out of a case, and an expression with too many cases says nothing at all. Whether atoms
can hold together is left to `together`.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from dovetail.constraints.contradictions.folding import FAILED, UNKNOWN, value_of
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.tree import (
    NODE_LABELS,
    Call,
    Index,
    ListOf,
    Literal,
    Name,
    Select,
    Tree,
    children_of,
    map_children,
)
from dovetail.constraints.syntax.writer import write
from dovetail.model.requests.asks import Match

MOST_CASES = 64

NODE = Name("node")

LESS, EQUAL, MORE, NEITHER = "<", "=", ">", "?"  # how two values may lie; a number may be none (NaN) and lie no way
_MEANING = {
    "==": {EQUAL},
    "!=": {LESS, MORE, NEITHER},
    "<": {LESS},
    "<=": {LESS, EQUAL},
    ">": {MORE},
    ">=": {MORE, EQUAL},
}
_ALL = frozenset({LESS, EQUAL, MORE, NEITHER})
_MIRRORED = {LESS: MORE, MORE: LESS, EQUAL: EQUAL, NEITHER: NEITHER}


@dataclass(frozen=True, slots=True)
class TextTest:
    """`test`, which depends on nothing but the string `subject`, is true or is false there (an error is neither)."""

    subject: Tree
    test: Tree
    holds: bool


@dataclass(frozen=True, slots=True)
class Matched:
    """A comparison from `node_affinity` or `node_selector`, of the label `subject`."""

    subject: Tree
    match: Match


@dataclass(frozen=True, slots=True)
class OrderTest:
    """How two values compare: one of `ways`."""

    left: Tree
    right: Tree
    ways: frozenset[str]


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something not understood that is true or false, but not both."""

    tree: Tree
    holds: bool


Atom = TextTest | Matched | OrderTest | Opaque
Case = tuple[Atom, ...]
Cases = tuple[Case, ...]
ALWAYS: Cases = ((),)
NEVER: Cases = ()


class NormalPart(NamedTuple):
    """One of the expressions that a text joins with `&&`, and when it is true."""

    text: str
    cases: Cases


class _TooMany(Exception):
    """More cases than are worth examining."""


@lru_cache(maxsize=1024)
def parts_of(text: str) -> tuple[NormalPart, ...]:
    """The parts of an expression. One that is too large to examine counts as always true."""
    tree, found = parse(text), []
    for part in tree.args if isinstance(tree, Call) and tree.name == "&&" else (tree,):
        try:
            cases = cases_of(canonical(part), True)
        except _TooMany:
            cases = ALWAYS
        found.append(NormalPart(write(part), cases))
    return tuple(found)


def cases_of(tree: Tree, wanted: bool) -> Cases:
    """When the tree is `wanted`."""
    match tree:
        case Call("!", (inner,)):
            return cases_of(inner, not wanted)
        case Call("&&" | "||" as operator, args):
            # Either side decides, whatever the other is: no error can be in the way of that.
            several = [cases_of(arg, wanted) for arg in args]
            return _any(several) if (operator == "||") == wanted else _all(several)
        case Call("?:", (condition, yes, no)):
            taken = _all([cases_of(condition, True), cases_of(yes, wanted)])
            return _any([taken, _all([cases_of(condition, False), cases_of(no, wanted)])])
        case Call("in", (left, ListOf(items))) if not any(texts_in(left)) and value_of(tree) is UNKNOWN:
            several = [cases_of(Call("==", (left, item)), wanted) for item in items]
            return _any(several) if wanted else _all(several)
    return _leaf(tree, wanted)


def label(key: str) -> Tree:
    return Index(NODE_LABELS, Literal(key))


def carries(subject: Tree) -> Tree:
    """That a node has the label, as `has(node.labels.key)` stands in a canonical tree."""
    assert isinstance(subject, Index), "only labels can be missing"
    return Call("in", (subject.key, NODE_LABELS))


def can_lack(subject: Tree) -> bool:
    return isinstance(subject, Index) and subject.of == NODE_LABELS


def canonical(tree: Tree) -> Tree:
    """One spelling for what means the same: `node.free.gpu` and `node.free["gpu"]`, `has(l.x)` and `"x" in l`,
    `GiB(1)` and `1073741824`."""
    match tree:
        case Select(of, name, test):
            inner = canonical(of)
            if test:
                return Call("in", (Literal(name), inner), span=tree.span)
            return Index(inner, Literal(name), tree.span) if _is_map(inner) else Select(inner, name, False, tree.span)
        case Call():
            call = map_children(tree, canonical)
            constant = all(isinstance(arg, Literal | ListOf) for arg in children_of(call))
            return (_folded(call) or call) if constant else call
    return map_children(tree, canonical)


def _is_map(tree: Tree) -> bool:
    """Amounts by resource, and labels; of a node, a domain or the whole cluster."""
    return isinstance(tree, Select) and isinstance(tree.of, Name | Call)


def _leaf(tree: Tree, wanted: bool) -> Cases:
    constant = value_of(tree)
    if constant is not UNKNOWN:
        return ALWAYS if constant is wanted else NEVER
    atoms: list[Atom] = []
    subjects = set(texts_in(tree))
    if len(subjects) == 1 and not _others_in(tree):
        atoms.append(TextTest(next(iter(subjects)), tree, wanted))
        if not isinstance(tree, Call) or sum(map(is_text, tree.args)) == 1:
            return (tuple(atoms),)  # a test of the text itself says all there is
    if isinstance(tree, Call) and tree.name in _MEANING:
        order = _order(tree, wanted)
        if order is None:
            return NEVER
        atoms.append(order)
        # A comparison with a label that is missing is an error, which is neither true nor false.
        if not _conditional(tree):
            atoms += [TextTest(one, carries(one), True) for one in texts_in(tree) if can_lack(one)]
    elif not atoms:
        atoms.append(Opaque(tree, wanted))
    return (tuple(atoms),)


def _order(tree: Call, wanted: bool) -> OrderTest | None:
    """None if a side is always an error."""
    ways = frozenset(_MEANING[tree.name])
    ways = ways if wanted else _ALL - ways
    left, right = map(_folded, tree.args)
    if left is None or right is None:
        return None
    return ordered(left, right, ways)


def ordered(left: Tree, right: Tree, ways: AbstractSet[str]) -> OrderTest:
    """The same two trees always on the same sides, a literal on the right."""
    if isinstance(left, Literal) or (not isinstance(right, Literal) and write(right) < write(left)):
        return OrderTest(right, left, mirrored(ways))
    return OrderTest(left, right, frozenset(ways))


def mirrored(ways: AbstractSet[str]) -> frozenset[str]:
    return frozenset(_MIRRORED[way] for way in ways)


def _folded(tree: Tree) -> Tree | None:
    """A literal, if it has the same value on every node; None if that is an error."""
    value = value_of(tree)
    if value is FAILED:
        return None
    return Literal(value) if isinstance(value, bool | int | float | str) else tree


def _any(several: Iterable[Cases]) -> Cases:
    found = tuple(dict.fromkeys(case for cases in several for case in cases))
    if len(found) > MOST_CASES:
        raise _TooMany
    return ALWAYS if () in found else found


def _all(several: Iterable[Cases]) -> Cases:
    found: Cases = ALWAYS
    for cases in several:
        if len(found) * len(cases) > MOST_CASES:
            raise _TooMany
        found = tuple(dict.fromkeys(tuple(dict.fromkeys(one + other)) for one, other in product(found, cases)))
    return found


def is_text(tree: Tree) -> bool:
    """A label by a name that is written out, the node's name or its backend's, or the name of its domain."""
    match tree:
        case Index(of, Literal(str())):
            return of == NODE_LABELS
        case Select(of, "name" | "backend", False):
            return of == NODE or isinstance(of, Call)
        case Call("in", (Literal(str()), of)):
            return of == NODE_LABELS
    return False


def texts_in(tree: Tree) -> Iterator[Tree]:
    """The labels and names it refers to."""
    if is_text(tree):
        key = tree.args[0] if isinstance(tree, Call) else None
        yield tree if key is None else Index(NODE_LABELS, key)
        return
    for child in children_of(tree):
        yield from texts_in(child)


def _others_in(tree: Tree) -> bool:
    """Does it refer to anything but strings?"""
    if is_text(tree):
        return False
    return isinstance(tree, Name) or any(map(_others_in, children_of(tree)))


def _conditional(tree: Tree) -> bool:
    """Is a part of it evaluated on some nodes only, or skipped where another part decides?"""
    if isinstance(tree, Call) and tree.name in ("&&", "||", "?:", "in"):
        return True
    return any(map(_conditional, children_of(tree)))
