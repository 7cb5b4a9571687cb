"""A gang with a layout is placed by the engine exactly where the oracle, which tries everything, finds a domain."""

from random import Random
from typing import Any

import pytest
from tests.examples import seeds
from tests.reference import ReferenceScheduler
from tests.reference_gangs import complaints
from tests.unit.engine.scene import Scene

from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import ProfileSettings

LEVELS = ("spine", "leaf", "rack")
INSTANCES, PARTS = seeds(160), 4


def _labels(chance: Random) -> dict[str, str]:
    path = [chance.randrange(2) for _ in LEVELS]
    return {level: "".join(map(str, path[: depth + 1])) for depth, level in enumerate(LEVELS)}


def _gang(chance: Random, number: int) -> dict[str, Any]:
    count = chance.randint(2, 7)
    topology: dict[str, Any] = {"strategy": chance.choice(("balanced", "pack", "spread", "latency"))}
    if chance.random() < 0.6:
        topology["required"] = chance.choice((*LEVELS, "host"))
    if chance.random() < 0.4:
        topology["slices"] = [{"size": chance.choice((2, 3)), "within": chance.choice((*LEVELS, "host"))}]
    asked: dict[str, Any] = {"cpu": chance.choice((1, 2)), "memory": f"{chance.choice((1, 8, 20))}GiB"}
    if chance.random() < 0.5:
        asked["gpu"] = chance.choice((1, 1, 2, 0.5, 0.3))
    fields = {"replicas": count, "gang": {"min": count}, "topology": topology, "resources": asked}
    if chance.random() < 0.2:
        fields["node_selector"] = {"spine": "0"}
    return fields | {"name": f"g{number}"}


def _check(seed: int) -> tuple[int, int]:
    chance = Random(seed)
    scene, oracle = Scene(), ReferenceScheduler(ProfileSettings(scores={}))
    for number in range(chance.randint(2, 10)):
        cpu, gpu, labels = chance.choice((1, 2, 4)), chance.choice((0, 1, 2, 4)), _labels(chance)
        scene.join(f"n{number}", cpu=cpu, capacity={"gpu": gpu}, labels=labels)
        capacity = {"cpu": cpu, "memory": "64GiB", "gpu": gpu}
        oracle.join(Node.model_validate({"name": f"n{number}", "capacity": capacity, "labels": labels}))
    placed = refused = 0
    for number in range(5):
        fields = _gang(chance, number)
        spec = Workload.model_validate(fields)
        expected, places = oracle.gang_fits(spec), oracle.gang_places(spec)
        scene.submit(**fields)
        scene.tick()
        work = scene.work(spec.name)
        nodes = [node for task in work.tasks.values() if (node := task.node) is not None]
        assert (len(nodes) == spec.replicas) is expected, f"{seed}: {spec}: {work.message}"
        placed, refused = placed + expected, refused + (not expected)
        assert spec.topology is not None
        if not nodes:
            scene.cancel(spec.name)
            continue
        slices = [(one.size, one.within) for one in spec.topology.slices]
        assert not complaints(places, LEVELS, nodes, spec.topology.required, slices), f"{seed}: {spec}"
        for replica, node in enumerate(nodes):
            oracle.place(spec, (number, replica), node)
    return placed, refused


@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_places_a_gang_where_the_oracle_finds_a_domain_and_nowhere_else(part: int) -> None:
    found = [_check(seed) for seed in INSTANCES[part::PARTS]]
    assert min(map(sum, zip(*found, strict=True))) > len(found) // 4, "both answers are put to the test"
