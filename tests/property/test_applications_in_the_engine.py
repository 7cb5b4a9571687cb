"""Random applications through the engine: nothing is lost, nothing is over capacity, rules hold, the traffic travels no
farther than one by one, and a restart in the middle changes nothing."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene

from dovetail.cluster.network.distance import distances_from
from dovetail.model.event import Tick

SEEDS = st.integers(min_value=0, max_value=10**9)


def cluster(seed: int, profile: str = "network") -> Scene:
    chance = np.random.default_rng(seed)
    scene = Scene(default_profile=profile)
    for number in range(int(chance.integers(2, 9))):
        scene.join(f"n{number}", cpu=float(chance.integers(2, 9)), labels={"rack": f"r{number % 3}"})
    return scene


def application(seed: int) -> list[dict[str, Any]]:
    chance = np.random.default_rng(seed + 1)
    names = [f"w{number}" for number in range(int(chance.integers(2, 7)))]
    found: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        fields: dict[str, Any] = {"name": name, "cpu": float(chance.integers(1, 4)), "replicas": 1}
        fields["traffic"] = [
            {"to": other, "mbps": int(chance.integers(1, 1000))} for other in names[:place] if chance.random() < 0.6
        ]
        if chance.random() < 0.3:
            fields |= {"replicas": 2, "spread": [{"over": "rack"}]}
        elif chance.random() < 0.3 and place:
            fields["affinity"] = [{"apart": names[place - 1], "within": "host"}]
        found.append(fields)
    return found


def nodes_of(scene: Scene, work: list[dict[str, Any]]) -> dict[str, list[str]]:
    return {fields["name"]: scene.on(fields["name"]) for fields in work}


def cost(scene: Scene, work: list[dict[str, Any]]) -> float:
    """Mbps × distance, each workload's traffic shared among its tasks."""
    state, total = scene.engine._state.cluster, 0.0
    rows = {name: [state.rows[node] for node in nodes] for name, nodes in nodes_of(scene, work).items()}
    for fields in work:
        for traffic in fields["traffic"]:
            ours, theirs = rows[fields["name"]], rows[traffic["to"]]
            far = sum(float(distances_from(state, one)[other]) for one in ours for other in theirs)
            total += traffic["mbps"] * far / (len(ours) * len(theirs)) if far else 0.0
    return total


@given(SEEDS)
@examples(60)
def test_traffic_travels_no_farther_than_one_by_one(seed: int) -> None:
    work, together, alone = application(seed), cluster(seed), cluster(seed)
    for fields in work:
        together.submit(**fields)
        alone.submit(**fields)
        alone.tick()
    together.tick()
    wanted = sum(fields["replicas"] for fields in work)
    placed = [sum(map(len, nodes_of(scene, work).values())) for scene in (together, alone)]
    assert placed[0] >= placed[1] or placed[0] == wanted
    if placed == [wanted, wanted]:
        assert cost(together, work) <= cost(alone, work) + 1e-6


@given(SEEDS)
@examples(30)
def test_a_restart_in_the_middle_changes_nothing(seed: int) -> None:
    work, through, restarted = application(seed), cluster(seed, "auto"), cluster(seed, "auto")
    for fields in work:
        through.submit(**fields)
        restarted.submit(**fields)
    through.tick()
    for _ in range(seed % 4):
        restarted.hear(Tick(1))
    restarted.restart()
    restarted.tick()
    assert nodes_of(restarted, work) == nodes_of(through, work)


@given(SEEDS)
@examples(30)
def test_the_same_submissions_get_the_same_nodes_however_long_a_cycle_is(seed: int) -> None:
    work, one, other = application(seed), cluster(seed), cluster(seed)
    for fields in work:
        one.submit(**fields)
        other.submit(**fields)
    one.tick()
    for _ in range(100):
        other.hear(Tick(1, by_effort=True))
    assert nodes_of(one, work) == nodes_of(other, work)
