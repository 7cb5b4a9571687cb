"""The history of a domain as one number: how much ended well, and how quickly."""

import numpy as np
import pytest

from dovetail.placement.scores.domain import success_rate


def test_it_is_the_share_that_ended_well_over_how_slow_it_was_and_1_where_nothing_speaks_against_it() -> None:
    cases = [
        ((0, 0, 0.0, 0.0), 1.0),  # nothing is known
        ((3, 0, 3.0, 3.0), 1.0),
        ((3, 0, 1.5, 3.0), 1.0),  # quicker than usual is not better than good
        ((3, 1, 0.0, 0.0), 0.75),
        ((3, 0, 6.0, 3.0), 0.5),
        ((3, 1, 6.0, 3.0), 0.375),
        ((0, 2, 1.0, 1.0), 0.0),
        ((0, 0, 4.0, 1.0), 0.25),  # lost with the node, nothing ended
    ]
    columns = [np.array(column, dtype=np.float64) for column in zip(*(case for case, _ in cases), strict=True)]
    assert success_rate(*columns) == pytest.approx([expected for _, expected in cases])
