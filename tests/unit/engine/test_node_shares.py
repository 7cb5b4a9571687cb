"""What is sampled of each node: requested and measured shares, and nothing where nothing is known."""

import math
from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.trend_questions import STALE_S
from dovetail.model.event import NodeHealthChanged, NodeObserved

CAPACITY: dict[str, Any] = {"capacity": {"cpu": 8, "memory": "8GiB"}}


def shares(scene: Scene) -> dict[str, list[float | None]]:
    """By node, the requested shares of CPU, memory and GPUs, then the measured ones."""
    found = Questions(scene.engine).trends.node_shares(scene.now)
    rows = zip(found.names, found.values.tolist(), strict=True)
    return {name: [None if math.isnan(one) else one for one in row] for name, row in rows}


def test_a_node_has_what_is_requested_and_what_it_measures() -> None:
    scene = Scene()
    scene.join("a", **CAPACITY)
    scene.join("b", **CAPACITY)
    scene.run("one", resources={"cpu": 2, "memory": "4GiB"})
    placed, other = sorted(shares(scene), key=lambda name: -(shares(scene)[name][0] or 0))
    assert shares(scene)[placed] == [0.25, 0.5, None, None, None, None], "it has no GPUs and does not measure"
    scene.hear(NodeObserved(other, {"cpu": 4000}))
    assert shares(scene)[other] == [0, 0, None, 0.5, None, None], "memory was never told"
    assert shares(scene)[placed][3] is None


def test_what_was_measured_long_ago_or_by_a_node_that_is_gone_does_not_count() -> None:
    scene = Scene()
    for name in "abc":
        scene.join(name, **CAPACITY)
        scene.hear(NodeObserved(name, {"cpu": 4000}))
    scene.hear(NodeHealthChanged("a", False, "silent"))
    scene.leave("b")
    assert {name: row[3] for name, row in shares(scene).items()} == {"a": None, "c": 0.5}
    scene.now += STALE_S + 1
    assert shares(scene)["c"][3] is None
    scene.hear(NodeObserved("c", {"cpu": 0}))
    assert shares(scene)["c"][3] == pytest.approx(0), "who has measured before may be idle"
