"""Pieces of array work that several places need."""

import numpy as np
import pytest

from dovetail.cluster.arrays import runs


@pytest.mark.parametrize(
    ("ordered", "starts", "lengths"),
    [([], [], []), ([4], [0], [1]), ([1, 1, 1], [0], [3]), ([0, 0, 2, 3, 3], [0, 2, 3], [2, 1, 2])],
)
def test_runs_are_found_where_they_begin(ordered: list[int], starts: list[int], lengths: list[int]) -> None:
    found = runs(np.array(ordered, dtype=np.int64))
    assert (found[0].tolist(), found[1].tolist()) == (starts, lengths)
