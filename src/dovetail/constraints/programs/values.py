"""Types, and values over all nodes of a view: arrays of one entry a node, or of no dimension where all nodes have the
same.

A `Column` holds bools, int64 or float64. `Strings` are codes and what they stand for: a function of a string is decided
once for each distinct value, of two strings once for each distinct pair, and then taken to the nodes. `error` is true
where the value is an error; what stands there in the value itself means nothing, except that a bool is False there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1

Array = npt.NDArray[Any]
CLEAN: B1 = np.zeros((), dtype=np.bool_)  # no error anywhere
EVERYWHERE: B1 = np.ones((), dtype=np.bool_)
FEW = 64


@dataclass(frozen=True, slots=True)
class Type:
    name: str
    of: Optional["Type"] = None

    def __str__(self) -> str:
        return self.name if self.of is None else f"{self.name} of {self.of}"


BOOL, INT, DOUBLE, STRING = Type("bool"), Type("int"), Type("double"), Type("string")
ANYTHING = Type("anything")  # the items of an empty list
NUMBERS = frozenset({INT, DOUBLE})


def list_of(item: Type) -> Type:
    return Type("list", item)


def comparable(left: Type, right: Type) -> bool:
    """May they be compared with `==`? Whole numbers and doubles may."""
    if left.of is not None and right.of is not None:
        return comparable(left.of, right.of)
    return left == right or {left, right} <= NUMBERS or ANYTHING in (left, right)


class Column(NamedTuple):
    data: Array
    error: B1 = CLEAN


class Strings(NamedTuple):
    """`values[codes[i]]` is the string of node i; a code may be -1 where there is an error. `find` gives the code of a
    string, if that is known without searching; values are then distinct."""

    codes: Array
    values: Sequence[str]
    error: B1 = CLEAN
    find: Callable[[str], int | None] | None = None


class Items(NamedTuple):
    """A list that is written out: as many items on every node."""

    items: tuple["Value", ...]

    @property
    def error(self) -> B1:
        return either(*[item.error for item in self.items])


class Sets(NamedTuple):
    """Lists of strings that differ from node to node: codes of distinct lists."""

    codes: Array
    sets: Sequence[Sequence[str]]
    error: B1 = CLEAN


Value = Column | Strings | Items | Sets


def constant(value: bool | int | float | str) -> Column | Strings:
    if isinstance(value, str):
        return Strings(np.zeros((), dtype=np.intp), (value,))
    return Column(np.array(value, dtype=np.bool_ if isinstance(value, bool) else None))


def either(*errors: B1) -> B1:
    """Where any of them is an error."""
    found = CLEAN
    for error in errors:
        if error is not CLEAN:
            found = error if found is CLEAN else found | error
    return found


def truth(data: Array, error: B1) -> Column:
    """A bool column, with False where there is an error."""
    return Column(data if error is CLEAN else data & ~error, error)


def used(strings: Strings) -> Strings:
    """With only the values that some node has, where there are many more than nodes (a view of few rows)."""
    if len(strings.values) <= max(strings.codes.size, FEW):
        return strings
    codes, places = np.unique(strings.codes, return_inverse=True)
    values = [strings.values[code] for code in codes.tolist()]
    return Strings(places.reshape(strings.codes.shape), values, strings.error)


def decide(strings: Strings, test: Callable[[str], bool]) -> Column:
    """A question with the answer yes or no, once for each value."""
    few = used(strings)
    answers = np.fromiter(map(test, few.values), dtype=np.bool_, count=len(few.values))
    return truth(answers.take(few.codes), few.error)


def converted(strings: Strings, convert: Callable[[str], Any], dtype: Any) -> Column:
    """`convert` once for each value; None is an error."""
    few = used(strings)
    results = [convert(value) for value in few.values]
    bad = np.array([result is None for result in results], dtype=np.bool_)
    table = np.array([0 if result is None else result for result in results], dtype=dtype)
    error = either(few.error, bad.take(few.codes)) if bad.any() else few.error
    found = table.take(few.codes)
    return truth(found, error) if dtype is np.bool_ else Column(found, error)


def rewritten(strings: Strings, change: Callable[[str], str]) -> Strings:
    few = used(strings)
    return Strings(few.codes, [change(value) for value in few.values], few.error)


def paired(left: Strings, right: Strings) -> tuple[Array, list[tuple[str, str]], B1]:
    """Codes of the distinct pairs that occur, and the pairs."""
    one, other = used(left), used(right)
    width = len(other.values)
    # A code of -1 stands for an error; any pair will do there.
    both = np.asarray(np.maximum(one.codes, 0).astype(np.int64) * width + np.maximum(other.codes, 0))
    size = len(one.values) * width
    if size <= max(4 * both.size, FEW):
        met = np.zeros(size, dtype=np.bool_)
        met[both] = True
        pairs = np.flatnonzero(met)
        place = np.zeros(size, dtype=np.intp)
        place[pairs] = np.arange(len(pairs))
        codes = place[both]
    else:
        pairs, codes = np.unique(both, return_inverse=True)
    found = [(one.values[pair // width], other.values[pair % width]) for pair in pairs.tolist()]
    return codes.reshape(both.shape), found, either(left.error, right.error)


class Test(NamedTuple):
    """A question about two strings: for one pair, and for many strings with one other, which is faster spelled out."""

    pair: Callable[[str, str], bool]
    many: Callable[[Sequence[str], str], list[bool]]


def decide_pairs(left: Strings, right: Strings, test: Test) -> Column:
    """A question with the answer yes or no, once for each pair."""
    error = either(left.error, right.error)
    if is_constant(right):
        few = used(left)
        answers, codes = np.array(test.many(few.values, text_of(right)), dtype=np.bool_), few.codes
    else:
        codes, pairs, error = paired(left, right)
        answers = np.array([test.pair(*pair) for pair in pairs], dtype=np.bool_)
    return truth(answers.take(codes), error)


def joined(left: Strings, right: Strings) -> Strings:
    """One string after the other."""
    codes, pairs, error = paired(left, right)
    return Strings(codes, [one + other for one, other in pairs], error)


def equal_to(strings: Strings, wanted: str) -> Column:
    if strings.find is not None:
        code = strings.find(wanted)
        found = np.zeros(strings.codes.shape, dtype=np.bool_) if code is None else np.asarray(strings.codes == code)
        return truth(found, strings.error)
    return decide(strings, wanted.__eq__)


def among(strings: Strings, wanted: Sequence[str]) -> Column:
    """Is it one of these?"""
    if strings.find is None:
        return decide(strings, frozenset(wanted).__contains__)
    codes = [code for one in wanted if (code := strings.find(one)) is not None]
    table = np.zeros(len(strings.values) + 1, dtype=np.bool_)  # one more, for the code -1
    table[codes] = True
    return truth(table.take(strings.codes), strings.error)


def as_numbers(left: Strings, right: Strings) -> tuple[Array, Array]:
    """Numbers that are equal where the strings are."""
    known: dict[str, int] = {}
    found = []
    for one in (used(left), used(right)):
        table = np.array([known.setdefault(value, len(known)) for value in one.values], dtype=np.intp)
        found.append(table.take(one.codes))
    return found[0], found[1]


def is_constant(strings: Strings) -> bool:
    return not strings.codes.ndim


def text_of(strings: Strings) -> str:
    """Of a string that is the same on all nodes."""
    return strings.values[int(strings.codes)]
