"""Workloads that exchange traffic and wait together are placed together."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import Tick
from dovetail.model.record import Decision
from dovetail.model.workloads.workload import Workload


def racks(scene: Scene, racks: int = 3, nodes: int = 2, cpu: float = 4) -> None:
    for i in range(racks * nodes):
        scene.join(f"n{i}", cpu=cpu, labels={"rack": f"r{i // nodes}"})


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    racks(scene)
    return scene


def shop(scene: Scene, **fields: dict[str, Any]) -> None:
    """web talks to api, api to the database and a little to the cache."""
    traffic: dict[str, list[dict[str, Any]]] = {
        "web": [{"to": "api", "mbps": 900}],
        "api": [{"to": "db", "mbps": 1000}, {"to": "cache", "mbps": 10}],
        "db": [],
        "cache": [],
    }
    for name, rates in traffic.items():
        asked: dict[str, Any] = {"cpu": 2, "traffic": rates} | fields.get(name, {})
        scene.submit(name, **asked)


def notes(scene: Scene, name: str) -> str:
    decisions = [one for one in scene.decisions if one.task.workload == scene.ids[name] and one.node is not None]
    return "; ".join(decisions[-1].explanation.notes)


def test_those_that_talk_most_share_a_node_and_the_others_a_rack(scene: Scene) -> None:
    shop(scene)
    assert len(scene.tick()) == 4
    [api], [db], [web], [cache] = scene.on("api"), scene.on("db"), scene.on("web"), scene.on("cache")
    assert api == db != web == cache
    assert {api, web} in ({"n0", "n1"}, {"n2", "n3"}, {"n4", "n5"})


def test_the_explanation_says_what_the_application_gains(scene: Scene) -> None:
    shop(scene)
    scene.tick()
    assert "placed with its application of 4 workloads" in notes(scene, "db")
    assert "their traffic travels a mean distance of" in notes(scene, "db")


def test_work_without_traffic_is_placed_as_ever(scene: Scene) -> None:
    for name in ("one", "two"):
        scene.submit(name)
    scene.tick()
    assert not notes(scene, "one")
    assert scene.work("one").nominations is None


def test_what_runs_already_draws_the_application_near(scene: Scene) -> None:
    scene.submit("db", constraints=[{"require": 'node.name == "n5"'}], cpu=2)
    scene.tick()
    scene.submit("web", cpu=2, traffic=[{"to": "api", "mbps": 100}])
    scene.submit("api", cpu=2, traffic=[{"to": "db", "mbps": 1000}])
    scene.tick()
    assert (scene.on("api"), scene.on("web")) == (["n5"], ["n4"])


def test_replicas_of_a_spread_workload_stay_spread(scene: Scene) -> None:
    shop(scene, web={"replicas": 3, "cpu": 1, "spread": [{"over": "rack"}]})
    assert len(scene.tick()) == 6
    assert {int(node[1:]) // 2 for node in scene.on("web")} == {0, 1, 2}


def test_anti_affinity_within_the_application_holds(scene: Scene) -> None:
    apart = [{"apart": "db", "within": "rack"}]
    shop(scene, api={"affinity": apart})
    assert len(scene.tick()) == 4
    [api], [db] = scene.on("api"), scene.on("db")
    assert int(api[1:]) // 2 != int(db[1:]) // 2


def test_what_does_not_fit_waits_and_the_rest_runs(scene: Scene) -> None:
    shop(scene, cache={"cpu": 5})
    assert len(scene.tick()) == 3
    assert scene.why("cache")[0] == "insufficient_resources"
    scene.join("large", cpu=8)
    assert scene.tick() == ["cache.0"]


def test_an_application_that_comes_before_the_nodes_is_placed_together_when_they_join() -> None:
    scene = Scene()
    shop(scene)
    scene.tick()
    racks(scene)
    assert len(scene.tick()) == 4
    assert scene.on("api") == scene.on("db")


def test_quotas_are_kept_within_an_application() -> None:
    scene = Scene(queues={"small": {"maximum": {"cpu": 2}}})
    racks(scene)
    shop(scene, db={"queue": "small"}, cache={"queue": "small"})
    assert len(scene.tick()) == 3
    assert scene.why("cache")[0] == "over_quota"


def test_a_gang_is_placed_as_a_gang_and_the_others_near_it(scene: Scene) -> None:
    shop(scene, db={"replicas": 2, "gang": {"min": 2}, "cpu": 2})
    assert len(scene.tick()) == 5
    assert "application" not in notes(scene, "db")


def test_a_node_that_refuses_meanwhile_is_replaced_by_the_best_one(scene: Scene) -> None:
    shop(scene)
    scene.hear(Tick(1))
    waiting = [name for name in ("web", "api", "db", "cache") if not scene.on(name)]
    nominated = scene.work(waiting[-1]).nominations
    assert nominated is not None
    scene.leave(nominated[0])
    scene.tick()
    assert all(scene.on(name) for name in waiting)


def decided(scene: Scene) -> dict[str, list[str]]:
    return {name: scene.on(name) for name in ("web", "api", "db", "cache")}


def test_a_restart_halfway_goes_on_with_the_same_nodes(scene: Scene) -> None:
    other = Scene()
    racks(other)
    shop(scene)
    shop(other)
    scene.tick()
    other.hear(Tick(1))
    assert sum(map(len, decided(other).values())) < 4
    other.restart()
    other.tick()
    assert decided(other) == decided(scene)


def test_profiles_that_take_nodes_in_turn_are_left_alone() -> None:
    scene = Scene(default_profile="round_robin")
    racks(scene)
    shop(scene)
    scene.tick()
    assert len({node for nodes in decided(scene).values() for node in nodes}) == 4


def test_a_later_attempt_goes_by_itself(scene: Scene) -> None:
    shop(scene, db={"retries": 3})
    scene.tick()
    scene.started("db")
    scene.end("db", code=1)
    scene.tick(600)
    assert scene.on("db")
    assert "application" not in notes(scene, "db")


SHOP: list[dict[str, Any]] = [
    {"name": "web", "resources": {"cpu": 2}, "traffic": [{"to": "api", "mbps": 900}]},
    {"name": "api", "resources": {"cpu": 2}, "traffic": [{"to": "db", "mbps": 1000}, {"to": "cache", "mbps": 10}]},
    {"name": "db", "resources": {"cpu": 2}, "replicas": 2, "spread": [{"over": "rack"}]},
    {"name": "cache", "resources": {"cpu": 2}, "priority": "high"},
]


@pytest.mark.parametrize("profile", ["auto", "network", "best_fit"])
def test_a_plan_shows_the_nodes_that_the_application_gets_and_changes_nothing(profile: str) -> None:
    scene = Scene(default_profile=profile)
    racks(scene)
    scene.submit("other", cpu=3)
    scene.tick()
    specs = [Workload.model_validate(fields) for fields in SHOP]
    before = dict(scene.engine._state.cluster.placements.directory)
    planned = whole(Questions(scene.engine).plans.plan_applications(specs, 100, scene.now))
    assert before == scene.engine._state.cluster.placements.directory
    for fields in SHOP:
        scene.submit(fields["name"], **{key: value for key, value in fields.items() if key != "name"})
    assert len(scene.tick()) == 5
    assert {name: sorted(task.node or "" for task in tasks) for (_, name), tasks in planned.items()} == decided(scene)
    words = [task.explanation.notes for tasks in planned.values() for task in tasks]
    assert words == [one.explanation.notes for fields in SHOP for one in of(scene, fields["name"])]


def of(scene: Scene, name: str) -> list[Decision]:
    return [one for one in scene.decisions if one.task.workload == scene.ids[name] and one.node is not None]


def test_a_plan_leaves_gangs_and_work_without_traffic_to_others() -> None:
    scene = Scene()
    racks(scene)
    specs = [Workload.model_validate(fields) for fields in SHOP]
    specs.append(Workload.model_validate({"name": "alone"}))
    specs.append(Workload.model_validate({"name": "gang", "gang": {"min": 1}, "traffic": [{"to": "web", "mbps": 1}]}))
    planned = whole(Questions(scene.engine).plans.plan_applications(specs, 100, scene.now))
    assert sorted(name for _, name in planned) == ["api", "cache", "db", "web"]


def test_a_plan_says_what_does_not_fit_of_an_application() -> None:
    scene = Scene()
    racks(scene, racks=1, nodes=1)
    specs = [Workload.model_validate(fields) for fields in SHOP]
    planned = whole(Questions(scene.engine).plans.plan_applications(specs, 100, scene.now))
    last = {name: tasks[-1] for (_, name), tasks in planned.items()}
    waits = [name for name, task in last.items() if task.node is None]
    assert waits
    assert all(last[name].explanation.outcome != "placed" for name in waits)
