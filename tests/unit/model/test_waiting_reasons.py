"""Which reasons to wait nodes could end, and which not."""

import pytest

from dovetail.model.reason import Outcome, waits_for_nodes, waits_for_others


@pytest.mark.parametrize(
    ("reason", "nodes", "others"),
    [
        (Outcome.INSUFFICIENT_RESOURCES, True, False),
        ("a_filter_of_another_package", True, False),
        ("", True, False),
        (Outcome.OVER_QUOTA, False, False),
        (Outcome.DEPENDENCY, False, True),
        (Outcome.PREEMPTING, False, True),
        (Outcome.LANE_KEPT, False, True),
    ],
)
def test_a_reason_says_whom_the_work_waits_for(reason: str, nodes: bool, others: bool) -> None:
    assert (waits_for_nodes(reason), waits_for_others(reason)) == (nodes, others)
    assert (waits_for_nodes(str(reason)), waits_for_others(str(reason))) == (nodes, others)
