"""Which nodes a selector means."""

import pytest

from dovetail.cli.nodes.node_selector import read_selector
from dovetail.cli.terminal.failure import Failure

LABELS = {"zone": "east", "rack": "r1", "gpu": ""}


@pytest.mark.parametrize(
    ("selector", "meant"),
    [
        ("zone=east", True),
        ("zone==east,rack=r1", True),
        ("zone=east,rack=r2", False),
        ("zone!=east", False),
        ("disk!=hdd", True),
        ("gpu", True),
        ("!gpu", False),
        ("!disk, zone = east", True),
        ("rack in (r0, r1),zone", True),
        ("rack notin(r0,r1)", False),
        ("disk notin (hdd)", True),
    ],
)
def test_labels_satisfy_a_selector_or_not(selector: str, meant: bool) -> None:
    assert read_selector(selector)(LABELS) is meant


@pytest.mark.parametrize("selector", ["", ",", "a b", "=x", "rack in r1", "a,,b", "!", "rack in (r1"])
def test_what_is_no_selector_is_refused_with_examples(selector: str) -> None:
    with pytest.raises(Failure, match="write labels such as zone=east"):
        read_selector(selector)
