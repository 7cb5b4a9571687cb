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
