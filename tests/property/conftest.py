"""Limits made so small that a dozen nodes and a few tasks reach them."""

from collections.abc import Iterator

import pytest

from dovetail.cluster import change_log
from dovetail.placement.pipeline import lookahead, pipeline, ranking_cache


@pytest.fixture(scope="module")
def small_limits() -> Iterator[None]:
    """Leaders are refilled, ladders climbed to the end, the change log cut and shapes forgotten all the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookahead, "TOP_K", 6)
        patch.setattr(ranking_cache, "STREAK", 1)
        patch.setattr(ranking_cache, "STEPS_AHEAD", 2)
        patch.setattr(ranking_cache, "STEPS_AHEAD_SINGLE", 3)
        patch.setattr(change_log, "_LOG_LIMIT", 30)
        patch.setattr(pipeline, "REMEMBERED_SHAPES", 0)  # so that nothing but `repeats` makes a ranking cache
        yield
