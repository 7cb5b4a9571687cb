"""A gang goes to a domain that its strategy's documented features, worked out node by node, say is best."""

from random import Random
from typing import Any

import pytest
from tests.examples import seeds
from tests.reference import ReferenceScheduler
from tests.reference_gangs import domain_of, fits
from tests.reference_strategies import Member, best_domains, worth
from tests.unit.engine.scene import Scene

from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload
from dovetail.placement.gangs.strategies import STRATEGIES
from dovetail.placement.pipeline.profiles import ProfileSettings

LEVELS = ("spine", "leaf", "rack")
PLAIN = ("balanced", "pack", "fragmentation", "mixed")
MIXED = {"availability": 3.0, "alignment": -1.0, "tightness": 2.0, "history": 7.0}
INSTANCES, PARTS = seeds(120), 3


def _check(seed: int) -> tuple[int, int]:
    """Gangs placed, and those of which some domain that held them was not among the best."""
    chance = Random(seed)
    scene, oracle = Scene(strategies={"mixed": MIXED}), ReferenceScheduler(ProfileSettings(scores={}))
    for number in range(chance.randint(4, 14)):
        path = [chance.randrange(2), chance.randrange(2), chance.randrange(3)]
        labels = {level: "".join(map(str, path[: depth + 1])) for depth, level in enumerate(LEVELS)}
        name, cpu = f"n{number}", chance.choice((1, 2, 4))
        scene.join(name, cpu=cpu, labels=labels)
        fields = {"name": name, "capacity": {"cpu": cpu, "memory": "64GiB"}, "labels": labels}
        oracle.join(Node.model_validate(fields))
        for _ in range(chance.choice((0, 0, 1, 4))):
            ok, slowdown = bool(chance.randrange(4)), chance.choice((None, 0.5, 1.0, 1.7, 4.0))
            scene.engine._state.cluster.count_outcome(name, ok)
            if slowdown is not None:
                scene.engine._state.cluster.note_pace(name, slowdown)
            oracle.fare(name, ok, slowdown)
    placed = told_apart = 0
    for number in range(4):
        count, strategy = chance.randint(2, 5), chance.choice(PLAIN)
        required = chance.choice(LEVELS)
        gang: dict[str, Any] = {
            "name": f"g{number}",
            "replicas": count,
            "gang": {"min": count},
            "topology": {"required": required, "strategy": strategy},
            "resources": {"cpu": chance.choice((1, 2)), "memory": f"{chance.choice((1, 20))}GiB"},
        }
        spec = Workload.model_validate(gang)
        places = oracle.gang_places(spec)
        order = (*LEVELS, "host")
        allowed = order[order.index(required) :]
        reached = next((level for level in reversed(allowed) if fits(places, LEVELS, count, level, ())), None)
        scene.submit(**gang)
        scene.tick()
        nodes = [task.node for task in scene.work(spec.name).tasks.values() if task.node is not None]
        assert bool(nodes) is (reached is not None)
        if reached is None:
            scene.cancel(spec.name)
            continue
        members: dict[object, list[Member]] = {}
        for place in places:
            members.setdefault(domain_of(place, reached, LEVELS), []).append((oracle.node(place.name), place))
        holding = {domain: some for domain, some in members.items() if sum(p.copies for _, p in some) >= count}
        inner = order[min(order.index(reached) + 1, len(order) - 1)]
        needs = {name: amount for name, amount in spec.resources.amounts().items() if name in ("cpu", "memory")}
        features = {domain: worth(some, inner, LEVELS, count, needs) for domain, some in holding.items()}
        best = best_domains(features, STRATEGIES.get(strategy, MIXED))
        where = {place.name: domain_of(place, reached, LEVELS) for place in places}
        (taken,) = {where[node] for node in nodes}
        assert taken in best, f"{seed}: {spec.name} by {strategy}: {features}"
        placed, told_apart = placed + 1, told_apart + (len(best) < len(holding))
        for replica, node in enumerate(nodes):
            oracle.place(spec, (number, replica), node)
    return placed, told_apart


@pytest.mark.parametrize("part", range(PARTS))
def test_a_gang_goes_where_its_strategy_says_is_best(part: int) -> None:
    found = [_check(seed) for seed in INSTANCES[part::PARTS]]
    _, told_apart = map(sum, zip(*found, strict=True))
    assert told_apart > len(found) // 2, "often some domain is worse than another"
