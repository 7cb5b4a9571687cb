"""And, or, not and choice over columns; comparing values of any type, and asking whether one is in a list.

Errors are as CEL has them: one side of and/or that decides outweighs an error on the other, whichever is first; of a
choice only the branch that is taken counts. Everything else passes an error on.
"""

from collections.abc import Sequence

import numpy as np

from dovetail.constraints.programs import arithmetic
from dovetail.constraints.programs.values import (
    CLEAN,
    Column,
    Items,
    Sets,
    Strings,
    Test,
    Value,
    among,
    as_numbers,
    decide_pairs,
    either,
    equal_to,
    is_constant,
    text_of,
    truth,
)

_ORDERS = {
    "<": Test(str.__lt__, lambda values, other: [value < other for value in values]),
    "<=": Test(str.__le__, lambda values, other: [value <= other for value in values]),
    ">": Test(str.__gt__, lambda values, other: [value > other for value in values]),
    ">=": Test(str.__ge__, lambda values, other: [value >= other for value in values]),
}


def all_of(values: Sequence[Column]) -> Column:
    """False where any is false, else an error where any is one."""
    data = values[0].data
    for one in values[1:]:
        data = data & one.data
    error = either(*[one.error for one in values])
    if error is CLEAN:
        return Column(np.asarray(data))
    decided = CLEAN
    for one in values:
        decided = decided | ~(one.data if one.error is CLEAN else one.data | one.error)
    return Column(np.asarray(data), np.asarray(error & ~decided))


def any_of(values: Sequence[Column]) -> Column:
    """True where any is true, else an error where any is one."""
    data = values[0].data
    for one in values[1:]:
        data = data | one.data
    error = either(*[one.error for one in values])
    return Column(np.asarray(data), error if error is CLEAN else np.asarray(error & ~data))


def opposite(value: Column) -> Column:
    return truth(np.asarray(~value.data), value.error)


def choice(condition: Column, yes: Column | Strings, no: Column | Strings) -> Column | Strings:
    taken = condition.data
    error = condition.error
    if yes.error is not CLEAN or no.error is not CLEAN:
        error = either(error, np.asarray(np.where(taken, yes.error, no.error)))
    if isinstance(yes, Strings) and isinstance(no, Strings):
        codes = np.where(taken, np.maximum(yes.codes, 0), np.maximum(no.codes, 0) + len(yes.values))
        return Strings(np.asarray(codes), [*yes.values, *no.values], error)
    assert isinstance(yes, Column)
    assert isinstance(no, Column)
    data = np.asarray(np.where(taken, yes.data, no.data))
    return truth(data, error) if data.dtype == np.bool_ else Column(data, error)


def count(of: Value) -> Column:
    """How many items a list has."""
    if isinstance(of, Items):
        return Column(np.array(len(of.items)), of.error)
    assert isinstance(of, Sets)
    return Column(np.array([len(one) for one in of.sets]).take(of.codes), of.error)


def compare(operator: str, left: Value, right: Value) -> Column:
    if isinstance(left, Column) and isinstance(right, Column):
        return arithmetic.compare(operator, left, right)
    if operator == "!=":
        same = compare("==", left, right)
        return truth(np.asarray(~same.data), same.error)
    if isinstance(left, Strings) and isinstance(right, Strings):
        return _equal_strings(left, right) if operator == "==" else decide_pairs(left, right, _ORDERS[operator])
    return _equal_lists(left, right)


def _equal_strings(left: Strings, right: Strings) -> Column:
    error = either(left.error, right.error)
    if is_constant(right):
        return truth(equal_to(left, text_of(right)).data, error)
    if is_constant(left):
        return truth(equal_to(right, text_of(left)).data, error)
    one, other = as_numbers(left, right)
    return truth(np.asarray(one == other), error)


def _equal_lists(left: Value, right: Value) -> Column:
    error = either(left.error, right.error)
    if isinstance(left, Sets) and isinstance(right, Sets):
        known: dict[tuple[str, ...], int] = {}
        one, other = (
            np.array([known.setdefault(tuple(names), len(known)) for names in value.sets], dtype=np.intp).take(
                value.codes
            )
            for value in (left, right)
        )
        return truth(np.asarray(one == other), error)
    if isinstance(left, Items) and isinstance(right, Items):
        if len(left.items) != len(right.items):
            return truth(np.zeros((), dtype=np.bool_), error)
        found = np.ones((), dtype=np.bool_)
        for mine, theirs in zip(left.items, right.items, strict=True):
            found = found & compare("==", mine, theirs).data
        return truth(np.asarray(found), error)
    sets, items = (left, right) if isinstance(left, Sets) else (right, left)
    assert isinstance(sets, Sets)
    assert isinstance(items, Items)
    # Item by item: the first of each list, the second…; lists of another length are unlike.
    long_enough = np.array([len(one) == len(items.items) for one in sets.sets], dtype=np.bool_)
    same = long_enough.take(sets.codes)
    for place, item in enumerate(items.items):
        names = Strings(sets.codes, [one[place] if place < len(one) else "" for one in sets.sets])
        same = same & compare("==", names, item).data
    return truth(np.asarray(same), error)


def member(wanted: Value, of: Value) -> Column:
    error = either(wanted.error, of.error)
    if isinstance(of, Sets):
        assert isinstance(wanted, Strings)
        return truth(_in_sets(wanted, of), error)
    assert isinstance(of, Items)
    texts = [item for item in of.items if isinstance(item, Strings) and is_constant(item)]
    if isinstance(wanted, Strings) and len(texts) == len(of.items):
        return truth(among(wanted, [text_of(item) for item in texts]).data, error)
    found = np.zeros((), dtype=np.bool_)
    for item in of.items:
        found = found | compare("==", wanted, item).data
    return truth(np.asarray(found), error)


def _in_sets(wanted: Strings, of: Sets) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    if not of.codes.ndim:
        return np.asarray(among(wanted, of.sets[int(of.codes)]).data)
    if is_constant(wanted):
        text = text_of(wanted)
        return np.asarray(np.array([text in one for one in of.sets], dtype=np.bool_).take(of.codes))
    found = np.zeros(np.broadcast_shapes(wanted.codes.shape, of.codes.shape), dtype=np.bool_)
    for code, one in enumerate(of.sets):
        if one:
            found |= (of.codes == code) & among(wanted, one).data
    return found
