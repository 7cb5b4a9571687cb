"""And, or, not and choice over columns, with errors as CEL has them.

One side that decides outweighs an error on the other, whichever is first; of a choice only the branch that is taken
counts. Everything else passes an error on.
"""

from collections.abc import Sequence

import numpy as np

from dovetail.constraints.programs.values import CLEAN, Column, Strings, either, truth


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
