"""Work that waits for other work is placed when that comes or leaves, and no two workloads wake each other endlessly.

`Scene.tick` itself fails if the engine never comes to rest.
"""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.model.event import NodeCordoned, NodeHealthChanged, Tick
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import Choice, Pipeline

NEAR_DB = [{"near": "db", "within": "zone"}]
NOT_WITH_WEB = [{"apart": {"labels": {"app": "web"}}, "within": "zone"}]


def scene_of(zones: str = "aabb", cpu: float = 4, **settings: Any) -> Scene:
    """One node n0, n1, … for each letter, which is its zone."""
    scene = Scene(**settings)
    for number, zone in enumerate(zones):
        scene.join(f"n{number}", cpu, labels={"zone": zone})
    return scene


def wants(text: str) -> list[dict[str, str]]:
    return [{"require": text}]


def test_who_only_wishes_to_be_near_others_waits_for_room_alone() -> None:
    scene = scene_of("ab")
    scene.run("old", 4)
    gang: dict[str, Any] = {"replicas": 2, "gang": {"min": 2}, "topology": {"preferred": "zone"}}
    wish = [{"near": "db", "within": "zone", "weight": 0.5}]
    scene.submit("gang", 4, affinity=wish, **gang)
    assert scene.tick() == []
    assert scene.engine._state.wake.watches == {}
    scene.end("old")
    assert scene.tick() == ["gang.0", "gang.1"]


def test_room_on_nodes_that_are_not_for_it_is_no_reason_to_look_at_work_again(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, looked_at = scene_of("ab"), list[str]()
    decide = Pipeline.decide

    def noted(self: Pipeline, request: Request, task: Any, **how: Any) -> Choice:
        looked_at.append(scene.name_of(task))
        return decide(self, request, task, **how)

    monkeypatch.setattr(Pipeline, "decide", noted)
    scene.run("old", 4, node_selector={"zone": "a"})
    scene.run("other", 4, node_selector={"zone": "b"})
    scene.submit("new", 4, node_selector={"zone": "b"})
    assert scene.tick() == []
    looked_at.clear()
    scene.end("old")
    assert (scene.tick(), looked_at) == ([], [])
    scene.end("other")
    assert (scene.tick(), looked_at) == (["new.0"], ["new.0"])


def test_room_on_a_node_that_it_only_wishes_to_avoid_wakes_work() -> None:
    scene = scene_of("ab")
    scene.run("old", 4, node_selector={"zone": "a"})
    scene.run("other", 4, node_selector={"zone": "b"})
    match = {"key": "zone", "operator": "In", "values": ["b"]}
    scene.submit("new", 4, node_affinity={"preferred": [{"match": [match], "priority": 1}]})
    assert scene.tick() == []
    scene.end("old")
    assert scene.tick() == ["new.0"]


# --- other work comes ----------------------------------------------------------------------------------------


def test_work_that_must_be_near_to_another_is_placed_in_its_zone_when_that_comes() -> None:
    scene = scene_of()
    scene.submit("web", affinity=NEAR_DB)
    assert scene.tick() == []
    assert scene.why("web")[0] == "affinity_unsatisfied"
    scene.submit("db", node_selector={"zone": "b"})
    assert scene.tick() == ["db.0", "web.0"]
    assert set(scene.on("web")) <= {"n2", "n3"}


def test_all_of_a_class_follow_when_the_task_they_are_near_to_has_come() -> None:
    scene = scene_of()
    for number in range(5):
        scene.submit(f"web-{number}", affinity=NEAR_DB)
    assert scene.tick() == []
    scene.submit("db")
    assert sorted(scene.tick()) == ["db.0", *(f"web-{number}.0" for number in range(5))]


def test_near_by_distance_waits_for_the_other_task_as_well() -> None:
    scene = scene_of()
    scene.submit("web", affinity=[{"near": "db", "distance": 0}])
    assert scene.tick() == []
    scene.submit("db")
    assert scene.tick() == ["db.0", "web.0"]
    assert scene.on("web") == scene.on("db")


def test_the_first_of_those_that_want_to_be_together_begins_and_the_others_come_to_it() -> None:
    scene = scene_of("abc", cpu=2)
    scene.submit("ring", replicas=3, labels={"app": "ring"}, affinity=[{"near": "ring", "within": "zone"}])
    assert scene.tick() == ["ring.0", "ring.1"]
    assert len(set(scene.on("ring"))) == 1
    scene.join("n9", 4, labels={"zone": {"n0": "a", "n1": "b", "n2": "c"}[scene.on("ring")[0]]})
    assert scene.tick() == ["ring.2"]


# --- neighbours that go --------------------------------------------------------------------------------------


def test_apart_work_is_placed_anywhere_in_the_zone_that_the_other_left() -> None:
    """The node it left is full: room on another node of the zone must count."""
    scene = scene_of("aa")
    scene.run("filler", 3, node_selector={"zone": "a"})
    scene.run("web", 1, labels={"app": "web"})
    assert scene.on("web") == scene.on("filler") or scene.tick() == []
    scene.submit("db", 3.5, affinity=NOT_WITH_WEB)
    assert scene.tick() == []
    scene.end("web")
    assert scene.tick() == ["db.0"]
    assert scene.on("db") != scene.on("filler")


def test_work_that_is_kept_away_is_placed_on_another_node_of_the_zone_when_the_repelling_work_ends() -> None:
    """The hermit's own node has no room for it, before and after."""
    scene = scene_of("aa", cpu=4)
    scene.run("hermit", 1, affinity=NOT_WITH_WEB)
    scene.run("filler", 3, affinity=[{"near": "hermit", "within": "host"}])
    scene.submit("web", 2, labels={"app": "web"})
    assert scene.tick() == []
    assert scene.why("web")[0] == "kept_away"
    scene.end("hermit")
    assert scene.tick() == ["web.0"]
    assert scene.on("web") != scene.on("filler")


def test_who_is_kept_away_by_distance_hears_of_it_on_every_node() -> None:
    """The node that the hermit leaves has no room; the one beside it has."""
    scene = Scene()
    scene.join("n0", 4, labels={"rack": "r1"})
    scene.join("n1", 4, labels={"rack": "r1"})
    scene.run("hermit", 1, affinity=[{"apart": {"labels": {"app": "web"}}, "distance": 90}])
    scene.run("filler", 3, node_selector={"rack": "r1"}, affinity=[{"near": "hermit", "within": "host"}])
    scene.submit("web", 2, labels={"app": "web"})
    assert scene.tick() == []
    assert scene.why("web")[0] == "kept_away"
    scene.end("hermit")
    assert scene.tick() == ["web.0"]
    assert scene.on("web") != scene.on("filler")


def test_members_of_a_conflict_set_take_turns_on_one_host() -> None:
    scene = Scene()
    scene.join("n0", 4)
    scene.run("one", replicas=2, conflicts=["licence"])
    scene.submit("two", conflicts=["licence"])
    assert scene.tick() == []
    scene.end("one", 0)
    assert scene.tick() == []
    scene.end("one", 1)
    assert scene.tick() == ["two.0"]


def test_one_that_is_kept_away_does_not_block_others_of_its_shape() -> None:
    """Their shapes are equal, their labels are not."""
    scene = Scene()
    scene.join("n0", 2)
    scene.run("hermit", 1, affinity=[{"apart": {"labels": {"app": "web"}}}])
    scene.run("other", 1)
    scene.submit("web", labels={"app": "web"}, priority="high", disruption={"allowed": False})
    scene.submit("plain", labels={"app": "tool"}, disruption={"allowed": False})
    assert scene.tick() == []
    scene.end("other")
    assert scene.tick() == ["plain.0"]
    scene.end("hermit")
    assert scene.tick() == ["web.0"]


def test_one_that_waits_for_other_work_does_not_block_one_that_matches_its_own_rule() -> None:
    """Both ask for `app: ring` nearby; only one of them carries that label and may be the first."""
    scene = Scene()
    scene.join("n0", 1, labels={"zone": "a"})
    scene.run("filler", 1)
    rule = [{"near": {"labels": {"app": "ring"}}, "within": "zone"}]
    scene.submit("guest", affinity=rule)
    scene.submit("ring", affinity=rule, labels={"app": "ring"})
    assert scene.tick() == []
    scene.end("filler")
    assert scene.tick() == ["ring.0"]
    scene.join("n1", 1, labels={"zone": "a"})
    assert scene.tick() == ["guest.0"]


def test_those_behind_a_cancelled_one_are_not_forgotten_when_what_keeps_them_away_has_changed() -> None:
    """The first of them is brought back for all; by then another rule concerns them than when they were set aside."""
    scene = Scene(schedulers={"default": {"backfill": {"mode": "off"}}})
    scene.join("n0", 1, labels={"disk": "hdd"})
    scene.join("n1", 2)
    scene.run("filler", 2)
    for name in ("web-1", "web-2"):
        scene.submit(name, 2, labels={"app": "web"}, disruption={"allowed": False})
    assert scene.tick() == []
    scene.end("filler")
    apart = [{"apart": {"labels": {"app": "web"}}}]
    scene.submit("hermit", priority="critical", node_selector={"disk": "hdd"}, affinity=apart)
    scene.hear(Tick(1))  # the hermit is placed; the first of the others stands in line
    assert scene.on("hermit") == ["n0"]
    scene.cancel("web-1")
    assert scene.tick() == ["web-2.0"]


# --- spread --------------------------------------------------------------------------------------------------


def spread(**more: Any) -> list[dict[str, Any]]:
    return [{"over": "zone", "max_skew": 1} | more]


def test_spread_work_moves_on_when_another_zone_takes_its_share() -> None:
    scene = scene_of("ab", cpu=2)
    scene.run("filler", 2, node_selector={"zone": "b"})
    scene.submit("web", replicas=4, spread=spread())
    assert scene.tick() == ["web.0"]
    assert scene.why("web")[0] == "insufficient_resources"  # of the zone that would keep the balance
    scene.end("filler")
    assert scene.tick() == ["web.1", "web.2", "web.3"]
    assert sorted(scene.on("web")) == ["n0", "n0", "n1", "n1"]


def test_spread_work_moves_on_when_other_work_that_counts_fills_the_emptier_zone() -> None:
    scene = scene_of("ab", cpu=4)
    of = {"labels": {"app": "web"}}
    scene.run("first", labels={"app": "web"}, node_selector={"zone": "a"})
    scene.run("filler", 3, node_selector={"zone": "b"})
    scene.submit("second", 2, labels={"app": "web"}, spread=spread(of=of))
    assert scene.tick() == []
    scene.submit("third", 1, labels={"app": "web"}, node_selector={"zone": "b"})
    assert scene.tick() == ["third.0", "second.0"]


@pytest.mark.parametrize("event", [NodeCordoned("n1", True, "mending"), NodeHealthChanged("n1", False, "silent")])
def test_a_zone_that_takes_no_work_any_longer_does_not_hold_up_an_even_spread(event: Any) -> None:
    scene = scene_of("ab", cpu=2)
    scene.run("filler", 2, node_selector={"zone": "b"})
    scene.submit("web", replicas=2, spread=spread())
    assert scene.tick() == ["web.0"]
    scene.hear(event)
    assert scene.tick() == ["web.1"]


def test_a_zone_whose_last_node_leaves_does_not_hold_up_an_even_spread() -> None:
    scene = scene_of("ab", cpu=2)
    scene.submit("filler", 2, node_selector={"zone": "b"})
    scene.submit("web", replicas=2, spread=spread())
    assert sorted(scene.tick()) == ["filler.0", "web.0"]
    scene.leave("n1")
    assert scene.tick() == ["web.1"]


# --- expressions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        'domain("leaf").allocated.gpu > 0.0',
        'workload("db").tasks > 0',
        "node.allocated.gpu > 0.0",
        'distance(workload("db")) < 100.0',
    ],
)
def test_an_expression_about_other_work_is_looked_at_again_when_it_may_have_come_true(text: str) -> None:
    scene = Scene()
    for number in range(2):
        scene.join(f"n{number}", 4, labels={"leaf": f"l{number}"}, capacity={"gpu": 2})
    scene.submit("web", constraints=wants(text))
    assert scene.tick() == []
    assert scene.why("web")[0] == "constraint_unsatisfied"
    scene.submit("db", resources={"cpu": 1, "gpu": 1})
    assert scene.tick() == ["db.0", "web.0"]


def test_an_expression_about_a_domain_comes_true_on_nodes_that_did_not_change() -> None:
    scene = scene_of("aab", cpu=4)
    scene.run("filler", 4, node_selector={"zone": "a"})
    scene.run("more", 4, node_selector={"zone": "b"})
    scene.submit("web", 3, constraints=wants('domain("zone").free.cpu >= 5.0'))
    assert scene.tick() == []
    scene.end("filler")
    assert scene.tick() == ["web.0"]


# --- quiet ---------------------------------------------------------------------------------------------------


def test_two_that_wait_for_each_other_leave_the_engine_in_peace() -> None:
    scene = scene_of()
    scene.submit("one", affinity=[{"near": "two", "within": "zone"}])
    scene.submit("two", affinity=[{"near": "one", "within": "zone"}])
    assert scene.tick() == []
    assert not scene.engine.busy
    scene.submit("bystander")
    assert scene.tick() == ["bystander.0"]
    assert not scene.engine.busy


def test_nobody_is_looked_at_again_without_news() -> None:
    scene = scene_of()
    scene.submit("web", affinity=NEAR_DB)
    scene.submit("reader", constraints=wants('workload("db").tasks > 0'))
    scene.tick()
    told = len(scene.decisions)
    for _ in range(3):
        scene.tick(1.0)
    assert len(scene.decisions) == told
    assert not scene.engine.busy


def test_a_head_that_nobody_may_overtake_goes_when_what_it_waits_for_comes_true() -> None:
    """It sticks to the lead; another of its kind that would go before it must not be woken in its stead."""
    backfill = {"mode": "none", "head": "sticky"}
    scene = scene_of(schedulers={"default": {"backfill": backfill}})
    scene.run("db", node_selector={"zone": "b"})
    gone = [{"require": 'workload("db").tasks == 0'}]
    scene.submit("first", constraints=gone, priority="low")
    assert scene.tick() == []
    scene.submit("urgent", constraints=gone, priority="critical")
    assert scene.tick() == []
    scene.end("db")
    assert scene.tick() == ["first.0", "urgent.0"]


def test_a_promise_is_made_to_work_that_may_be_the_first_to_match_its_rule() -> None:
    """No task that it wants to be near to is there yet: it may go first, and a short job may not delay it."""
    scene = Scene(schedulers={"default": {"backfill": {"mode": "easy"}}})
    scene.join("n0", 4, labels={"zone": "a"})
    scene.run("filler", 3, deadline={"run_for": 100})
    ring: dict[str, Any] = {
        "labels": {"app": "ring"},
        "affinity": [{"near": {"labels": {"app": "ring"}}, "within": "zone"}],
    }
    scene.submit("ring", 4, deadline={"run_for": 100}, **ring)
    scene.submit("long", 1, deadline={"run_for": 1000})
    assert scene.tick() == []
    assert scene.ids["ring"] in scene.engine._state.promises.of_work


def test_work_in_the_batch_order_is_placed_when_the_work_it_is_near_to_comes() -> None:
    scene = scene_of(profiles={"short-first": {"order": "batch"}}, default_profile="short-first")
    scene.submit("web", affinity=NEAR_DB, deadline={"run_for": 600})
    assert scene.tick() == []
    assert not scene.engine.busy
    scene.submit("db", deadline={"run_for": 600})
    assert scene.tick() == ["db.0", "web.0"]
    assert not scene.engine.busy


# --- displacing ----------------------------------------------------------------------------------------------


def test_urgent_work_with_rules_displaces_only_where_that_makes_it_fit() -> None:
    """Two must be apart; only one node has work that may be displaced, so nobody is made to leave."""
    scene = Scene(profiles={"tight": {"scores": {"best_fit": 1}}}, default_profile="tight")
    scene.join("n0", 2)
    scene.join("n1", 2)
    scene.run("low", 2, priority="low")
    scene.run("kept", 2, priority="critical")
    gang: dict[str, Any] = {"gang": {"min": 2}, "replicas": 2, "affinity": [{"apart": "urgent", "within": "host"}]}
    scene.submit("urgent", 1, priority="high", **gang)
    assert scene.tick() == []
    assert scene.stopping() == []


def test_urgent_work_with_rules_is_placed_once_its_victims_have_gone() -> None:
    scene = Scene()
    scene.join("n0", 2)
    scene.join("n1", 2)
    scene.run("low", 2, priority="low", replicas=2)
    scene.submit("urgent", 1, priority="high", replicas=2, affinity=[{"apart": "urgent", "within": "host"}])
    for _ in range(2):
        assert len(scene.tick()) < 2
        scene.stopped("low")
    scene.tick()
    assert scene.on("urgent") == ["n0", "n1"]


def test_urgent_work_that_nobody_makes_fit_by_leaving_displaces_nobody() -> None:
    """It must be near to work that is not there: room alone would not help."""
    scene = scene_of("a", cpu=2)
    scene.run("low", 2, priority="low")
    scene.submit("urgent", priority="high", affinity=NEAR_DB)
    assert scene.tick() == []
    assert scene.stopping() == []
