"""With measured distances that come, change and are incomplete, the pipeline agrees with the plain scheduler."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.property.random_work import Join, Submit, a_fleet, a_step
from tests.property.side_by_side import SideBySide

from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import BUILT_IN

pytestmark = pytest.mark.usefixtures("small_limits")

NAMES = ["shop", "cart", "search"]
EVERY = 7  # steps between two measurements
UNKNOWN = 0.2  # share of the pairs


def measure(both: SideBySide, r: Random) -> None:
    """Some of the nodes, some that are gone, and some of their pairs."""
    known = [node.definition.name for node in both.oracle.present()]
    names = [*r.sample(known, r.randint(0, len(known))), "gone"]
    distance = np.full((len(names), len(names)), np.nan, dtype=np.float32)
    both.oracle.measured = {}
    for one in range(len(names)):
        distance[one, one] = 0.0
        for other in range(one):
            if r.random() >= UNKNOWN:
                distance[one, other] = distance[other, one] = r.choice([0.0, 20.0, 33.3, r.uniform(0.0, 100.0), 100.0])
                for pair in ((one, other), (other, one)):
                    both.oracle.measured[names[pair[0]], names[pair[1]]] = float(distance[one, other])
    both.cluster.set_measured_distances(names, distance)


def near_or_apart(r: Random) -> Submit:
    """Small work that looks at distances, and at nothing else."""
    other = r.choice(NAMES)
    rules: list[dict[str, Any]] = [
        {"affinity": [{"near": other}]},
        {"affinity": [{"near": other, "distance": r.choice([20, 50, 90]), "weight": 1}]},
        {"affinity": [{"apart": other, "distance": r.choice([10, 30])}]},
        {"traffic": [{"to": other, "mbps": r.choice([7, 100])}]},
    ]
    found = {"name": r.choice(NAMES), "resources": {"cpu": "10m"}, **r.choice(rules)}
    return Submit(Workload.model_validate(found), r.randint(1, 3))


@pytest.mark.parametrize("profile", ["network", "balanced"])
@examples(4, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_decisions_by_measured_distances_are_those_of_a_plain_scheduler(profile: str, seed: int) -> None:
    r = Random(seed)
    both = SideBySide(BUILT_IN[profile])
    for node in a_fleet(r):
        both.take(Join(node))
    for step in range(70):
        if step % EVERY == 0:
            measure(both, r)
        both.take(near_or_apart(r) if step % 2 else a_step(r))
