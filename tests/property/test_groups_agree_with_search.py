"""Groups of different shapes: the engine's verdict is that of a search through every way to place the tasks."""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.examples import seeds
from tests.unit.engine.scene import Scene

from dovetail.cluster.arrays import B1, F8
from dovetail.placement.gangs.mixed_packing import pack

PACKINGS, GROUPS, PARTS = seeds(1200), seeds(480), 4


def fits(free: F8, asked: list[F8], allowed: list[B1], task: int = 0, first: int = 0) -> bool:
    """Every way, but for tasks that are alike: those go to the same node or to one after it."""
    if task == len(asked):
        return True
    alike = (
        task > 0 and np.array_equal(asked[task], asked[task - 1]) and np.array_equal(allowed[task], allowed[task - 1])
    )
    for node in range(first if alike else 0, free.shape[1]):
        if allowed[task][node] and (free[:, node] >= asked[task]).all():
            free[:, node] -= asked[task]
            found = fits(free, asked, allowed, task + 1, node)
            free[:, node] += asked[task]
            if found:
                return True
    return False


@pytest.mark.parametrize("part", range(PARTS))
def test_a_packing_is_found_if_and_only_if_there_is_one(part: int) -> None:
    for seed in PACKINGS[part::PARTS]:
        chance = Random(seed)
        nodes, kinds = chance.randint(1, 5), chance.randint(1, 3)
        free = np.array([[chance.randint(0, 6) for _ in range(nodes)] for _ in range(2)], dtype=np.float64)
        columns = [np.array([chance.randint(1, 3), chance.randint(0, 3)], dtype=np.float64) for _ in range(kinds)]
        allowed = [np.array([chance.random() < 0.85 for _ in range(nodes)]) for _ in range(kinds)]
        counts = [chance.randint(1, 4) for _ in range(kinds)]
        packed = pack(free, columns, allowed, counts)
        each = [kind for kind, count in enumerate(counts) for _ in range(count)]
        expected = fits(free.copy(), [columns[k] for k in each], [allowed[k] for k in each])
        assert (packed is not None) is expected, seed
        if packed is not None:
            assert [len(rows) for rows in packed] == counts, seed
            for kind, rows in enumerate(packed):
                for row in rows:
                    assert allowed[kind][row], seed
                    free[:, row] -= columns[kind]
            assert (free >= 0).all(), seed


@pytest.mark.parametrize("part", range(PARTS))
def test_a_group_starts_if_and_only_if_some_domain_holds_all_of_it(part: int) -> None:
    placed = [_decide(Random(seed), seed) for seed in GROUPS[part::PARTS]]
    assert 0.2 < sum(placed) / len(placed) < 0.8, "both verdicts were met often"


def _decide(chance: Random, seed: int) -> bool:
    scene = Scene()
    count = chance.randint(2, 6)
    leaves = [chance.randrange(2) for _ in range(count)]
    free = np.array([[chance.randint(1, 5), chance.randint(1, 6)] for _ in range(count)], dtype=np.float64).T
    for node, leaf in enumerate(leaves):
        cpu, memory = free[:, node]
        scene.join(f"n{node}", cpu=cpu, capacity={"memory": f"{memory:g}GiB"}, labels={"leaf": f"l{leaf}"})
    required = chance.random() < 0.7
    roles = [(chance.randint(1, 4), chance.randint(1, 3), chance.randint(1, 3)) for _ in range(chance.randint(1, 3))]
    least = sum(replicas for replicas, _, _ in roles)
    for index, (replicas, cpu, memory) in enumerate(roles):
        topology: dict[str, Any] = {"topology": {"required": "leaf"}} if required else {}
        asked = {"cpu": cpu, "memory": f"{memory}GiB"}
        gang = {"min": least, "group": "g"}
        scene.submit(f"w{index}", replicas=replicas, resources=asked, gang=gang, **topology)
    scene.tick()
    asked_by = [np.array([cpu, memory], dtype=np.float64) for replicas, cpu, memory in roles for _ in range(replicas)]
    domains = [np.array(leaves) == leaf for leaf in (0, 1)] if required else [np.ones(count, dtype=np.bool_)]
    expected = any(fits(free.copy(), asked_by, [domain] * least) for domain in domains)
    held = sum(len(scene.on(f"w{index}")) for index in range(len(roles)))
    assert held == (least if expected else 0), f"{seed}: {scene.why('w0')}"
    return expected
