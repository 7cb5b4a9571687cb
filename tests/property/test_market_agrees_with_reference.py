"""Work that compares places goes where the oracle sends it, with the same points to the bit."""

from random import Random
from typing import Any

import pytest
from tests.examples import seeds
from tests.reference import ReferenceScheduler

from dovetail.engine.engine import Engine
from dovetail.model.event import NodeJoined, Submitted, Tick
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import BUILT_IN, with_market

PLACES = ("", "", "aws/us-east-1", "gcp/us-west1", "elsewhere/x")
WORDS = ("cheapest", "fastest", "greenest", "local-first")


def node(chance: Random, number: int) -> Node:
    offer: dict[str, Any] | None = None
    if chance.random() < 0.8:
        offer = {
            "price_per_hour": chance.choice([0, 0.1, 0.5, round(chance.random() * 5, 3)]),
            "running": chance.random() < 0.5,
            "start_up": chance.choice(["0s", "90s", "5m"]),
            "interruption": chance.choice([0, 0.03, 0.5, 1.0]),
            "place": chance.choice(PLACES),
            "carbon_g_per_kwh": chance.choice([None, 50, 700]),
            "watts": chance.choice([None, 300]),
        }
    capacity = {"cpu": chance.choice([4, 8, 16]), "memory": chance.choice(["16GiB", "64GiB"])}
    return Node.model_validate({"name": f"n{number}", "capacity": capacity, "offer": offer})


def workload(chance: Random, number: int) -> Workload:
    weights = {name: chance.choice([0, 1, 3]) for name in ("price", "start", "carbon", "egress", "risk", "local")}
    return Workload.model_validate(
        {
            "name": f"w{number}",
            "resources": {"cpu": chance.choice([1, 2, 4]), "memory": chance.choice(["1GiB", "8GiB"])},
            "prefer": weights if chance.random() < 0.5 and any(weights.values()) else chance.choice(WORDS),
            "deadline": {"run_for": chance.choice([None, "10m", "7h"])},
            "disruption": {"checkpoint_every": chance.choice([None, "5m"])},
            "inputs": [
                {"place": place, "size": f"{chance.randint(1, 900)}GB"} for place in chance.sample(PLACES[1:], 2)
            ]
            if chance.random() < 0.5
            else [],
        }
    )


@pytest.mark.parametrize("seed", seeds(40))
def test_market_decisions_agree_with_the_reference(seed: int) -> None:
    chance = Random(seed)
    engine, reference = Engine(), ReferenceScheduler(with_market(BUILT_IN["auto"]))
    for number in range(chance.randint(2, 12)):
        joined = node(chance, number)
        engine.handle(NodeJoined(joined), 0.0)
        reference.join(joined)
    for number in range(1, 25):
        spec = workload(chance, number)
        expected = reference.decision(spec)
        engine.handle(Submitted(number, spec), 0.0)
        engine.handle(Tick(10), 0.0)
        (decision,) = engine.take_decisions()
        assert decision.node == expected.node
        if expected.node is None:
            break
        best = decision.explanation.best[0]
        row = reference.row(expected.node)
        assert best.points == expected.points[row]
        assert best.total == expected.totals[row]
        reference.place(spec, number, expected.node)
