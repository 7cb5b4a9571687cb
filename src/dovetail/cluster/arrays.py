"""Array types and growth. Shapes are stated where each table lives; the last axis is always the node."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
B1 = npt.NDArray[np.bool_]
I4 = npt.NDArray[np.int32]
Rows = npt.NDArray[np.intp]

_T = TypeVar("_T", bound=npt.NDArray[Any])

FIRST_CAPACITY = 16


def grown(array: _T, columns: int, fill: float = 0) -> _T:
    """The array with its last axis widened to `columns`, new cells holding `fill`."""
    wider = np.full((*array.shape[:-1], columns), fill, dtype=array.dtype)
    wider[..., : array.shape[-1]] = array
    return wider  # type: ignore[return-value]


def runs(ordered: npt.NDArray[Any]) -> tuple[Rows, Rows]:
    """Where equal values begin in an array that is in order, and how many there are of each. numpy.diff says the same
    in five times as long, which matters where arrays are short."""
    if not len(ordered):
        return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
    begins = np.empty(len(ordered), dtype=np.bool_)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    starts = begins.nonzero()[0]
    lengths = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1] = len(ordered) - starts[-1]
    return starts, lengths
