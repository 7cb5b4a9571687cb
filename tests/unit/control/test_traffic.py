"""What the communication matrix suggests."""

import pytest

from dovetail.control.services.traffic import TrafficPair
from dovetail.traffic.matrix import OUTSIDE, Name

WEB: Name = ("default", "web")
DB: Name = ("default", "db")


@pytest.mark.parametrize(
    ("observed", "declared", "distance", "suggestion"),
    [
        (None, 40.0, 10.0, ""),
        (0.5, None, 90.0, ""),
        (12.4, None, 5.0, "traffic: [{to: db, mbps: 12}]"),
        (12.4, 20.0, 5.0, ""),  # what is declared is about right
        (90.0, 20.0, 5.0, "traffic: [{to: db, mbps: 90}]"),
        (500.0, None, 60.0, "traffic: [{to: db, mbps: 500}], affinity: [{near: db}]"),
    ],
)
def test_who_talks_much_and_does_not_say_so_gets_a_suggestion(
    observed: float | None, declared: float | None, distance: float, suggestion: str
) -> None:
    assert TrafficPair(WEB, DB, observed, declared, distance).suggestion == suggestion


def test_nothing_is_suggested_for_the_world_outside_and_other_namespaces() -> None:
    assert TrafficPair(WEB, OUTSIDE, 900.0, None, None).suggestion == ""
    assert TrafficPair(WEB, ("other", "db"), 900.0, None, 90.0).suggestion == ""
