"""Which reasons to wait other tasks or time must end."""

import pytest

from dovetail.model.reason import Outcome, waits_for_others


@pytest.mark.parametrize(
    ("reason", "others"),
    [
        (Outcome.INSUFFICIENT_RESOURCES, False),
        ("a_filter_of_another_package", False),
        ("", False),
        (Outcome.OVER_QUOTA, False),
        (Outcome.DEPENDENCY, True),
        (Outcome.PREEMPTING, True),
        (Outcome.LANE_KEPT, True),
        (Outcome.CONCURRENCY, True),
        (Outcome.GROUP_INCOMPLETE, True),
        (Outcome.RETRY_DELAYED, True),
    ],
)
def test_a_reason_says_whether_the_work_waits_for_others(reason: str, others: bool) -> None:
    assert waits_for_others(reason) is others
    assert waits_for_others(str(reason)) is others
